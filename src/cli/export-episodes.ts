import { renameSync, rmSync } from "node:fs";
import type { Checkpoints } from "../checkpoint/checkpoints.ts";
import type { World } from "../rollout/world.ts";
import { conversationToChat, conversationToShareGpt, jsonLine, trajectoryToJson } from "../schema/index.ts";
import type { StoredTrajectory, TrajectoryFilter } from "../store/index.ts";
import type { Terminal } from "./command.ts";
import { conversations } from "./export-conversation.ts";
import { loadConfig } from "./load-config.ts";
import type { OpenedRun } from "./opened-run.ts";
import {
  chatColumns,
  chatRow,
  shareGptColumns,
  shareGptRow,
  trajectoryColumns,
  trajectoryRow,
} from "./parquet-columns.ts";
import { runTokenizer } from "./run-tokenizer.ts";
import { storedEpisodes } from "./stored-episodes.ts";
import { toFile, toScreen } from "./write-lines.ts";
import { type Columns, writeParquet } from "./write-parquet.ts";

export type EpisodeFormat = "trajectories" | "chat" | "sharegpt";

export interface EpisodeExport {
  readonly run: OpenedRun;
  readonly filter: TrajectoryFilter;
  readonly out: string | undefined;
  /** The file that made the run, for first messages. */
  readonly file: string | undefined;
}

/** JSON lines, or Parquet where the file's name says so. Returns how many. */
export async function writeEpisodes(
  format: EpisodeFormat,
  { run, filter, out, file }: EpisodeExport,
  terminal: Terminal,
  signal: AbortSignal,
): Promise<number> {
  const env = file === undefined ? undefined : (await loadConfig(file)).env;
  const { columns, toRow, toJson } = await episodeForm(format, run.checkpoints, env);
  const episodes = storedEpisodes(run.reader, filter);
  if (out?.endsWith(".parquet")) return toParquet(columns, mapped(episodes, toRow), out, signal);
  const lines = mapped(episodes, async (stored) => jsonLine(await toJson(stored)));
  return out === undefined ? toScreen(lines, terminal, signal) : toFile(lines, out, signal);
}

interface EpisodeForm {
  readonly columns: Columns;
  readonly toRow: (stored: StoredTrajectory) => Promise<Readonly<Record<string, unknown>>>;
  readonly toJson: (stored: StoredTrajectory) => Promise<unknown>;
}

async function episodeForm(
  format: EpisodeFormat,
  checkpoints: Checkpoints,
  env: World | undefined,
): Promise<EpisodeForm> {
  if (format === "trajectories") {
    return {
      columns: trajectoryColumns,
      toRow: async (stored) => trajectoryRow(stored),
      toJson: async ({ trajectory }) => trajectoryToJson(trajectory),
    };
  }
  const toConversation = conversations(env, await runTokenizer(checkpoints));
  if (format === "chat") {
    const toJson = async (stored: StoredTrajectory) => conversationToChat(await toConversation(stored));
    return { columns: chatColumns, toJson, toRow: async (stored) => chatRow(await toJson(stored)) };
  }
  const toJson = async (stored: StoredTrajectory) => conversationToShareGpt(await toConversation(stored));
  return { columns: shareGptColumns, toJson, toRow: async (stored) => shareGptRow(await toJson(stored)) };
}

async function* mapped<Item, Value>(items: AsyncIterable<Item>, map: (item: Item) => Promise<Value>) {
  for await (const item of items) yield await map(item);
}

type Row = Readonly<Record<string, unknown>>;

async function toParquet(
  columns: Columns,
  rows: AsyncIterable<Row>,
  out: string,
  signal: AbortSignal,
): Promise<number> {
  const unfinished = `${out}.partial`;
  let count = 0;
  const counted = async function* () {
    for await (const row of rows) {
      if (signal.aborted) return;
      count++;
      yield row;
    }
  };
  try {
    await writeParquet(unfinished, columns, counted());
    if (!signal.aborted) renameSync(unfinished, out);
    return count;
  } finally {
    rmSync(unfinished, { force: true });
  }
}
