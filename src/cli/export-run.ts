import { once } from "node:events";
import { createWriteStream, existsSync, renameSync, rmSync } from "node:fs";
import { finished } from "node:stream/promises";
import type { Env } from "../env/env.ts";
import { conversationToChat, conversationToShareGpt, jsonLine, trajectoryToJson } from "../schema/index.ts";
import { openRun, type RunReader, type StoredTrajectory, type TrajectoryFilter } from "../store/index.ts";
import type { Terminal } from "./command.ts";
import { conversations } from "./export-conversation.ts";
import { loadConfig } from "./load-config.ts";
import { metricsCsv } from "./metrics-csv.ts";
import { usageError } from "./parse-options.ts";
import { runTokenizer } from "./run-tokenizer.ts";
import { storedEpisodes } from "./stored-episodes.ts";
import { onlySteps, readWhere } from "./where.ts";

export type ExportFormat = "trajectories" | "chat" | "sharegpt" | "csv-metrics";

export interface ExportOptions {
  readonly format?: ExportFormat;
  readonly where?: readonly string[];
  readonly out?: string;
  readonly file?: string;
  readonly force?: boolean;
  readonly quiet?: boolean;
}

/** Writes what a run holds, line by line, whatever its size. Returns the exit status. */
export async function exportRun(
  run: string,
  options: ExportOptions,
  terminal: Terminal,
  signal: AbortSignal,
): Promise<number> {
  const { format = "trajectories", out, file, force, quiet } = options;
  const filter = readWhere(options.where ?? []);
  if (out !== undefined && !force && existsSync(out)) {
    throw usageError("file-exists", {
      got: `--out ${out}, which is there`,
      expected: "a new file",
      hint: "Or --force.",
    });
  }
  const env = file === undefined ? undefined : (await loadConfig(file)).env;
  const reader = await openRun(run, { readOnly: true });
  try {
    const lines = await linesOf(reader, run, format, filter, env);
    const count = out === undefined ? await toScreen(lines, terminal, signal) : await toFile(lines, out, signal);
    const rows = format === "csv-metrics" ? Math.max(0, count - 1) : count;
    if (!quiet && !signal.aborted) {
      terminal.stderr.write(`${rows} ${format === "csv-metrics" ? "steps" : "episodes"}${out ? ` in ${out}` : ""}\n`);
    }
    return 0;
  } finally {
    await reader.close();
  }
}

async function linesOf(
  reader: RunReader,
  run: string,
  format: ExportFormat,
  filter: TrajectoryFilter,
  env: Env | undefined,
): Promise<AsyncGenerator<string>> {
  if (format === "csv-metrics") return metricsCsv(reader, onlySteps(filter, format));
  const episodes = storedEpisodes(reader, filter);
  if (format === "trajectories") {
    return mapped(episodes, async ({ trajectory }) => jsonLine(trajectoryToJson(trajectory)));
  }
  const toConversation = conversations(env, await runTokenizer(run));
  return mapped(episodes, async (stored: StoredTrajectory) => {
    const conversation = await toConversation(stored);
    return jsonLine(format === "chat" ? conversationToChat(conversation) : conversationToShareGpt(conversation));
  });
}

async function* mapped<Item>(items: AsyncIterable<Item>, toLine: (item: Item) => Promise<string>) {
  for await (const item of items) yield await toLine(item);
}

/** A pipe that is read slowly is waited for. */
async function toScreen(lines: AsyncIterable<string>, { stdout }: Terminal, signal: AbortSignal): Promise<number> {
  let count = 0;
  for await (const line of lines) {
    if (signal.aborted) break;
    count++;
    if (stdout.write(line) === false && isEmitter(stdout)) await once(stdout, "drain", { signal }).catch(() => {});
  }
  return count;
}

function isEmitter(screen: object): screen is NodeJS.EventEmitter {
  return "once" in screen && typeof screen.once === "function";
}

/** The file has its name when all of it is there. */
async function toFile(lines: AsyncIterable<string>, out: string, signal: AbortSignal): Promise<number> {
  const unfinished = `${out}.partial`;
  const stream = createWriteStream(unfinished);
  const done = finished(stream);
  // whoever waits for it learns of a failure
  done.catch(() => {});
  let isWhole = false;
  try {
    let count = 0;
    for await (const line of lines) {
      if (signal.aborted) break;
      count++;
      if (!stream.write(line)) await Promise.race([once(stream, "drain"), done]);
    }
    stream.end();
    await done;
    isWhole = !signal.aborted;
    if (isWhole) renameSync(unfinished, out);
    return count;
  } finally {
    stream.destroy();
    if (!isWhole) rmSync(unfinished, { force: true });
  }
}
