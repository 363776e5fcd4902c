import { existsSync } from "node:fs";
import { basename, dirname, join, resolve } from "node:path";
import { z } from "zod";
import { Checkpoints } from "../checkpoint/checkpoints.ts";
import { embedded } from "../engine/embedded/embedded.ts";
import type { Engine } from "../engine/engine.ts";
import { LudusError } from "../errors.ts";
import { type KnownOptions, refuseUnknownOptions } from "../known-options.ts";
import type { CallFormat } from "../policy/call-format.ts";
import { callFormats } from "../policy/formats/call-formats.ts";
import { hermes } from "../policy/formats/hermes.ts";
import { loadTokenizer } from "../policy/load-tokenizer.ts";
import type { Renderer } from "../policy/renderer.ts";
import type { Tokenizer } from "../policy/tokenizer.ts";
import { templateNote } from "../policy/trained-template.ts";
import { addressedRuns, type RunCatalog } from "../store/index.ts";
import type { ServedModel } from "./model/served-model.ts";
import { type RendererStyle, recordedStyle, rendererOf } from "./renderer-style.ts";

export interface LoadOptions {
  /** The folder's name by default. */
  name?: string | undefined;
  /** As the run's trajectories show; for a folder of no run, `chat` where the tokenizer has a template. */
  renderer?: RendererStyle | undefined;
  /** That of the training: as the run says, else the folder's chat template; `hermes()` for any other folder. */
  format?: CallFormat | undefined;
  /** The embedded engine by default. */
  engine?: MakeServed | undefined;
  /** Where runs are: folders by default, with paths as ids. */
  runs?: RunCatalog | undefined;
}

const knownLoadOptions: KnownOptions<LoadOptions> = {
  name: true,
  renderer: true,
  format: true,
  engine: true,
  runs: true,
};

/** Makes an engine with the weights of a folder: `(start) => torch({ ...start, device: "cuda" })`. */
export type MakeServed = (start: { folder: string; tokenizer: Tokenizer }) => Promise<Engine>;

/** A run's newest checkpoint, one of its checkpoints, or any Hugging Face folder of the family. */
export async function loadServedModel(
  path: string,
  options: LoadOptions = {},
): Promise<ServedModel & { readonly engine: Engine }> {
  refuseUnknownOptions("loadServedModel", options, knownLoadOptions);
  const runs = options.runs ?? addressedRuns();
  const { folder, run } = checkpointIn(path, runs);
  const tokenizer = await loadTokenizer(folder);
  const trained = await trainedWith(run, runs, tokenizer);
  const style = options.renderer ?? trained.style;
  const renderer = rendererOf(tokenizer, style);
  const format = options.format ?? formatOf(trained.format, { renderer, style, tokenizer });
  const make = options.engine ?? embedded;
  return {
    name: options.name ?? basename(resolve(path)),
    engine: await make({ folder, tokenizer }),
    renderer,
    tokenizer,
    format,
  };
}

interface Trained {
  readonly style: RendererStyle;
  readonly format?: string | undefined;
}

const Stored = z.object({ env: z.object({ format: z.string() }) });

/** How a model was trained to read and write: as its run says, or the note in its chat template. */
async function trainedWith(run: string, runs: RunCatalog, tokenizer: Tokenizer): Promise<Trained> {
  const note = templateNote(tokenizer.chatTemplate);
  const otherwise: RendererStyle = tokenizer.chatTemplate === undefined ? "compact" : "chat";
  if ((await runs.info(run)) === undefined) return { style: note?.renderer ?? otherwise, format: note?.format };
  const reader = await runs.open(run);
  try {
    const stored = Stored.safeParse(await reader.config());
    const style = note?.renderer ?? (await recordedStyle(reader, tokenizer));
    return { style, format: stored.success ? stored.data.env.format : note?.format };
  } finally {
    await reader.close();
  }
}

interface FormatContext {
  readonly renderer: Renderer;
  readonly style: RendererStyle;
  readonly tokenizer: Tokenizer;
}

function formatOf(name: string | undefined, { renderer, style, tokenizer }: FormatContext): CallFormat {
  // nothing else could tell the tools of a folder that says nothing about its training
  if (name === undefined) return hermes({ describeTools: style === "compact" });
  if (!Object.hasOwn(callFormats, name)) {
    throw new LudusError("unknown-format", {
      got: `a model that was trained to write tool calls in the format "${name}"`,
      expected: `one of ${Object.keys(callFormats).join(", ")}`,
      hint: "Choose one with --format, or serve from code: loadServedModel(path, { format }).",
    });
  }
  const made = callFormats[name as keyof typeof callFormats]();
  // of the options of formats one changes the prompt, and the template that was saved shows it
  const told = name === "hermes" ? hermes({ describeTools: true }) : made;
  return renderer.chatTemplate?.(told) === tokenizer.chatTemplate ? told : made;
}

/** The folder with the weights, and the run that it may be of. */
function checkpointIn(path: string, runs: RunCatalog): { readonly folder: string; readonly run: string } {
  // a checkpoint lies two folders below its run
  if (existsSync(join(path, "config.json"))) return { folder: path, run: dirname(dirname(resolve(path))) };
  const checkpoints = new Checkpoints(runs.checkpointDirectory(path));
  const step = checkpoints.steps().at(-1);
  if (step !== undefined) return { folder: checkpoints.directory(step), run: path };
  throw new LudusError("no-checkpoint", {
    got: `"${path}"`,
    expected: "a run with a checkpoint, or a model's own folder",
    hint: "Runs save one when they end, and every so many steps (save: { every }).",
  });
}
