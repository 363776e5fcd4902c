import { existsSync, mkdirSync, readdirSync, rmSync, statSync } from "node:fs";
import { basename, resolve } from "node:path";
import { replaceFolder } from "../atomic-folder.ts";
import { defined } from "../defined.ts";
import { exportGguf, type GgufOptions } from "../engine/model/gguf/export-gguf.ts";
import { type RunCatalog, type RunReader, type StepRange, type TrajectoryFilter, trainSplit } from "../store/index.ts";
import { chooseCheckpoint } from "./choose-checkpoint.ts";
import type { Terminal } from "./command.ts";
import { writeEpisodes } from "./export-episodes.ts";
import { exportModel } from "./export-model.ts";
import { metricsTensorboard } from "./metrics-tensorboard.ts";
import { type OpenedRun, withRun } from "./opened-run.ts";
import { usageError } from "./parse-options.ts";
import { storedMetrics } from "./stored-metrics.ts";
import { onlySteps, readWhere } from "./where.ts";
import { toFile, toScreen } from "./write-lines.ts";

export const exportFormats = [
  ...(["trajectories", "chat", "sharegpt", "csv-metrics"] as const),
  ...(["tensorboard", "huggingface", "onnx", "gguf"] as const),
] as const;
export type ExportFormat = (typeof exportFormats)[number];

/** Those that are a folder, not a file. */
type FolderFormat = "tensorboard" | "huggingface" | "onnx";

export interface ExportOptions {
  readonly format?: ExportFormat;
  readonly where?: readonly string[];
  readonly out?: string;
  readonly file?: string;
  readonly checkpoint?: string;
  readonly type?: GgufOptions["type"];
  readonly adapter?: GgufOptions["adapter"];
  readonly base?: string;
  readonly force?: boolean;
  readonly quiet?: boolean;
}

interface Work {
  readonly run: OpenedRun;
  readonly filter: TrajectoryFilter;
  readonly options: ExportOptions;
  readonly terminal: Terminal;
  readonly signal: AbortSignal;
}

/** Writes what a run holds, piece by piece, whatever its size. Returns the exit status. */
export async function exportRun(
  runs: RunCatalog,
  id: string,
  options: ExportOptions,
  terminal: Terminal,
  signal: AbortSignal,
): Promise<number> {
  const { format = "trajectories", out } = options;
  const filter = readWhere(options.where ?? []);
  checkGguf(format, options);
  checkOut(format, options);
  return withRun(runs, id, async (run) => {
    const written = await write(format, { run, filter, options, terminal, signal });
    if (!options.quiet && !signal.aborted) terminal.stderr.write(`${written}${out ? ` in ${out}` : ""}\n`);
    return 0;
  });
}

/** What was written, in words. */
async function write(format: ExportFormat, work: Work): Promise<string> {
  const { options, terminal, signal } = work;
  switch (format) {
    case "trajectories":
    case "chat":
    case "sharegpt": {
      const filter = { split: trainSplit, ...work.filter };
      const episodes = { ...work, filter, out: options.out, file: options.file };
      return `${await writeEpisodes(format, episodes, terminal, signal)} episodes`;
    }
    case "csv-metrics":
      return writeCsv(work);
    case "tensorboard":
    case "huggingface":
    case "onnx":
      return writeFolder(format, work);
    case "gguf":
      return writeGgufFile(work);
    default:
      return format satisfies never;
  }
}

/** What only one format knows is no use to another. */
function checkGguf(format: ExportFormat, options: ExportOptions): void {
  const given = format === "gguf" ? undefined : (["type", "adapter", "base"] as const).find((name) => options[name]);
  if (given === undefined) return;
  throw usageError("bad-option", {
    got: `--${given} with --format ${format}`,
    expected: `--${given} with --format gguf`,
  });
}

function checkOut(format: ExportFormat, { out, force }: ExportOptions): void {
  const isFolder = format === "tensorboard" || format === "huggingface" || format === "onnx";
  if ((isFolder || format === "gguf") && out === undefined) {
    const hint = `For example: --out ${isFolder ? format : "agent.gguf"}.`;
    const expected = isFolder ? "the folder to write" : "the file to write";
    throw usageError("no-out", { got: `--format ${format} without --out`, expected, hint });
  }
  if (out === undefined || !existsSync(out)) return;
  // a folder may hold anything: it is never replaced
  if (isFolder && (!isDirectory(out) || readdirSync(out).length > 0)) {
    throw usageError("file-exists", { got: `--out ${out}, which is there`, expected: "a new or an empty folder" });
  }
  if (!isFolder && !force) {
    throw usageError("file-exists", {
      got: `--out ${out}, which is there`,
      expected: "a new file",
      hint: "Or --force.",
    });
  }
}

async function writeCsv({ run, filter, options: { out }, terminal, signal }: Work): Promise<string> {
  const lines = metricsCsv(run.reader, onlySteps(filter, "csv-metrics"));
  const count = out === undefined ? await toScreen(lines, terminal, signal) : await toFile(lines, out, signal);
  return `${Math.max(0, count - 1)} steps`;
}

async function writeGgufFile({ run, options }: Work): Promise<string> {
  const step = await chooseCheckpoint(run, options.checkpoint ?? "last");
  const { type, adapter, base, out } = options;
  const name = basename(resolve(run.id));
  await exportGguf(run.checkpoints.directory(step), out!, { name, ...defined({ type, adapter, base }) });
  return `The model of step ${step}`;
}

async function writeFolder(format: FolderFormat, { run, filter, options, signal }: Work): Promise<string> {
  const out = options.out!;
  const unfinished = `${out}.partial`;
  rmSync(unfinished, { recursive: true, force: true });
  mkdirSync(unfinished, { recursive: true });
  try {
    const written =
      format === "tensorboard"
        ? `${await metricsTensorboard(run.reader, onlySteps(filter, format), unfinished, signal)} steps`
        : `The model of step ${await exportModel(run, { format, checkpoint: options.checkpoint ?? "last" }, unfinished)}`;
    if (signal.aborted) return written;
    replaceFolder(unfinished, out);
    return written;
  } finally {
    rmSync(unfinished, { recursive: true, force: true });
  }
}

/** Lines of a table: a step, then each metric; empty where a step lacks one. */
async function* metricsCsv(reader: RunReader, range: StepRange): AsyncGenerator<string> {
  const names = await reader.metricNames();
  yield `${["step", ...names].map(quoted).join(",")}\n`;
  for await (const { step, values } of storedMetrics(reader, names, range)) {
    yield `${[step, ...values.map((value) => value ?? "")].join(",")}\n`;
  }
}

function quoted(text: string): string {
  return /[",\n\r]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

function isDirectory(path: string): boolean {
  return statSync(path).isDirectory();
}
