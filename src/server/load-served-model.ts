import { existsSync } from "node:fs";
import { basename, dirname, join, resolve } from "node:path";
import { Checkpoints } from "../checkpoint/checkpoints.ts";
import { embedded } from "../engine/embedded/embedded.ts";
import type { Engine } from "../engine/engine.ts";
import { LudusError } from "../errors.ts";
import { type KnownOptions, refuseUnknownOptions } from "../known-options.ts";
import type { CallFormat } from "../policy/call-format.ts";
import { hermes } from "../policy/formats/hermes.ts";
import { loadTokenizer } from "../policy/load-tokenizer.ts";
import type { Tokenizer } from "../policy/tokenizer.ts";
import { type RunCatalog, sqliteRuns } from "../store/index.ts";
import type { ServedModel } from "./model/served-model.ts";
import { type RendererStyle, recordedStyle, rendererOf } from "./renderer-style.ts";

export interface LoadOptions {
  /** The folder's name by default. */
  name?: string | undefined;
  /** As the run's trajectories show; for a folder of no run, `chat` where the tokenizer has a template. */
  renderer?: RendererStyle | undefined;
  /** `hermes()` by default. */
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
  const runs = options.runs ?? sqliteRuns();
  const { folder, run } = checkpointIn(path, runs);
  const tokenizer = await loadTokenizer(folder);
  const style = options.renderer ?? (await styleOf(run, runs, tokenizer));
  const make = options.engine ?? embedded;
  return {
    name: options.name ?? basename(resolve(path)),
    engine: await make({ folder, tokenizer }),
    renderer: rendererOf(tokenizer, style),
    tokenizer,
    // the compact way has no template that could tell the tools
    format: options.format ?? hermes({ describeTools: style === "compact" }),
  };
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

async function styleOf(run: string, runs: RunCatalog, tokenizer: Tokenizer): Promise<RendererStyle> {
  if ((await runs.info(run)) === undefined) return tokenizer.chatTemplate === undefined ? "compact" : "chat";
  const reader = await runs.open(run);
  try {
    return await recordedStyle(reader, tokenizer);
  } finally {
    await reader.close();
  }
}
