import { setTimeout } from "node:timers/promises";
import { collect, trajectoryToJson } from "../schema/index.ts";
import { heldOutSplit, type RunCatalog, type RunReader, type TrajectorySummary, trainSplit } from "../store/index.ts";
import type { Terminal } from "./command.ts";
import { figure } from "./number-text.ts";
import { withRun } from "./opened-run.ts";
import { harmless, type Paint, paintFor } from "./paint.ts";
import { usageError } from "./parse-options.ts";
import { replayParts } from "./replay-text.ts";
import { runTokenizer } from "./run-tokenizer.ts";
import { episodeSummaries } from "./stored-episodes.ts";
import { textTable } from "./text-table.ts";

export interface ReplayOptions {
  readonly step?: number;
  readonly split?: string;
  readonly tokens?: boolean;
  readonly speed?: number;
  readonly json?: boolean;
}

/** Shows one episode, or the list of a step's. Returns the exit status. */
export async function replayRun(
  runs: RunCatalog,
  id: string,
  which: string | undefined,
  options: ReplayOptions,
  { stdout }: Terminal,
  signal: AbortSignal,
): Promise<number> {
  if (options.speed !== undefined && options.speed <= 0) {
    throw usageError("bad-option", { got: `--speed ${options.speed}`, expected: "a number above 0" });
  }
  return withRun(runs, id, async ({ reader, checkpoints }) => {
    if (which === undefined) {
      const episodes = await stepEpisodes(reader, id, options);
      const list = options.json ? `${JSON.stringify(episodes)}\n` : listText(id, episodes, paintFor(stdout));
      stdout.write(list);
      return 0;
    }
    const stored = await reader.trajectory(await findKey(reader, id, which, options));
    if (options.json) {
      const { summary, task, trajectory, advantages_T } = stored;
      const advantages = advantages_T === undefined ? {} : { advantages_T: Array.from(advantages_T) };
      stdout.write(`${JSON.stringify({ summary, task, trajectory: trajectoryToJson(trajectory), ...advantages })}\n`);
      return 0;
    }
    const tokenizer = await runTokenizer(checkpoints);
    const shown = { run: id, tokens: options.tokens ?? false, paint: paintFor(stdout) };
    for (const [index, part] of replayParts(stored, tokenizer, shown).entries()) {
      if (index > 0 && options.speed !== undefined) await pause(1000 / options.speed, signal);
      if (signal.aborted) return 0;
      stdout.write(part);
    }
    return 0;
  });
}

async function pause(milliseconds: number, signal: AbortSignal): Promise<void> {
  // an interrupt ends the wait, which is all that is wanted of it
  await setTimeout(milliseconds, undefined, { signal }).catch(() => {});
}

async function findKey(reader: RunReader, run: string, which: string, options: ReplayOptions): Promise<number> {
  if (/^\d+$/.test(which)) return Number(which);
  if (which !== "best" && which !== "worst" && which !== "last") {
    throw usageError("bad-usage", {
      got: `"${which}"`,
      expected: "the key of an episode, best, worst or last",
      hint: `ludus replay ${run} lists keys.`,
    });
  }
  const episodes = await stepEpisodes(reader, run, options);
  if (which === "last") return episodes.at(-1)!.key;
  const sign = which === "best" ? 1 : -1;
  // a reward that is no number is nobody's best
  const value = ({ reward }: TrajectorySummary) => (Number.isNaN(reward) ? Number.NEGATIVE_INFINITY : sign * reward);
  return episodes.reduce((best, each) => (value(each) > value(best) ? each : best)).key;
}

/** All of a step, in order: there is at least one. */
async function stepEpisodes(
  reader: RunReader,
  run: string,
  { step: wanted, split = trainSplit }: ReplayOptions,
): Promise<TrajectorySummary[]> {
  const newest = await reader.trajectories({ split }, { limit: 1 });
  const step = wanted ?? newest.trajectories[0]?.step;
  const episodes =
    step === undefined ? [] : await collect(episodeSummaries(reader, { split, steps: { from: step, to: step } }));
  if (episodes.length > 0) return episodes;
  const [oldest] = (await reader.trajectories({ split }, { limit: 1, order: "oldest" })).trajectories;
  const kind = split === trainSplit ? "episodes" : `${split} episodes`;
  throw usageError("no-episodes", {
    got: wanted === undefined ? `${run}, a run without ${kind} yet` : `step ${wanted} of ${run}, which has no ${kind}`,
    expected:
      oldest === undefined ? "a step of rollouts" : `--step from ${oldest.step} to ${newest.trajectories[0].step}`,
    hint:
      split === trainSplit
        ? "Steps of a warm start have no rollouts. --split held-out shows evaluations."
        : `Splits: ${trainSplit}, ${heldOutSplit}; evaluations are made before, after and every eval.every steps.`,
  });
}

function listText(run: string, episodes: readonly TrajectorySummary[], paint: Paint): string {
  const rows = episodes.map(({ key, taskId, role, reward, success, stop, turns, tokens, tools }) => [
    ...[String(key), harmless(taskId), harmless(role), figure(reward), success ? paint("green", "yes") : "no", stop],
    ...[String(turns), String(tokens), harmless(tools.join(", "))],
  ]);
  const heads = ["key", "task", "role", "reward", "success", "stop", "turns", "tokens", "tools"];
  const [{ step, split }] = episodes;
  const title = paint("bold", `${harmless(run)}, step ${step}${split === trainSplit ? "" : `, ${harmless(split)}`}`);
  return `${title}\n${textTable([heads.map((head) => paint("bold", head)), ...rows], [0, 3, 6, 7])}`;
}
