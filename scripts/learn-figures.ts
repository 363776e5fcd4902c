// Trains the environment of the tutorial and draws what happened: the figures of docs/learn/agentic-rl.md.
//
//     node scripts/learn-figures.ts                 trains, about a minute on two cores, then draws
//     node scripts/learn-figures.ts --run <folder>  draws a run that is there

import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { groupRelative } from "../src/credit/index.ts";
import {
  consoleMonitor,
  loadTokenizer,
  metric,
  openRun,
  type RunReader,
  type Tokenizer,
  type Trajectory,
  train,
} from "../src/index.ts";
import { tokenTexts } from "../src/server/dashboard/token-texts.ts";
import { type Attempt, curveFigure, groupFigure, tokensFigure } from "./figures/figures.ts";
import { tutorialConfig } from "./figures/tutorial-config.ts";

const root = join(import.meta.dirname, "..");
const { values } = parseArgs({ options: { run: { type: "string" } } });
const home = mkdtempSync(join(tmpdir(), "ludus-figures-"));

try {
  const folder = values.run ?? (await trainedRun(join(home, "caretaker")));
  const run = await openRun(folder, { readOnly: true });
  const tokenizer = await loadTokenizer(await newestCheckpoint(folder));
  const attempts = await mixedGroup(run, tokenizer);
  write("trajectory.svg", tokensFigure(attempts.find(({ success }) => success)!));
  write("group.svg", groupFigure(attempts));
  write("learning.svg", curveFigure(await run.series(metric.success), await evaluations(run)));
  await run.close();
} finally {
  rmSync(home, { recursive: true, force: true });
}

function write(name: string, svg: string): void {
  writeFileSync(join(root, "docs/learn", name), svg);
}

async function trainedRun(folder: string): Promise<string> {
  const config = await tutorialConfig(home);
  const { policy } = await train({ ...config, run: folder, monitors: [consoleMonitor({ stream: process.stderr })] });
  await policy.engine.close();
  return folder;
}

async function newestCheckpoint(folder: string): Promise<string> {
  const { globSync } = await import("node:fs");
  const newest = globSync(join(folder, "checkpoints/step-*")).sort().at(-1);
  if (newest === undefined) throw new Error(`${folder} has no checkpoint`);
  return newest;
}

/** A group of eight with two successes; of those of the beginning the one that is quickest to look at. */
async function mixedGroup(run: RunReader, tokenizer: Tokenizer): Promise<Attempt[]> {
  const page = await run.trajectories({ split: "train", success: true }, { order: "oldest", limit: 400 });
  const longest = (group: readonly Trajectory[]) => Math.max(...group.map(({ tokens_T }) => tokens_T.length));
  let best: readonly Trajectory[] | undefined;
  for (const key of new Set(page.trajectories.map(({ group }) => group))) {
    const { trajectories } = await run.group(key);
    const successes = trajectories.filter(({ score }) => score.success).length;
    if (trajectories.length !== 8 || successes !== 2) continue;
    if (best === undefined || longest(trajectories) < longest(best)) best = trajectories;
  }
  if (best === undefined) throw new Error("the run has no group of eight with two successes");
  return attemptsOf(best, tokenizer);
}

function attemptsOf(trajectories: readonly Trajectory[], tokenizer: Tokenizer): Attempt[] {
  const rows = trajectories.map(({ rollout, role, score, mask_T, turns }) => ({
    group: "group",
    rollout,
    role,
    reward: score.total,
    mask_T,
    weight: 1,
    isLast: true,
    turns: turns.map(({ span, reward }) => ({ ...span, reward })),
  }));
  const { advantages_B_T } = groupRelative().assign(rows);
  return trajectories.map(({ tokens_T, mask_T, logprobs_T, score, stop }, b) => ({
    texts: tokenTexts(tokenizer, tokens_T),
    mask: [...mask_T],
    logprobs: [...logprobs_T],
    reward: score.total,
    success: score.success,
    stop,
    advantage: advantages_B_T[b].find((advantage) => advantage !== 0) ?? 0,
  }));
}

async function evaluations(run: RunReader): Promise<{ step: number; success: number }[]> {
  const events = await run.events({ types: ["eval-end"] });
  return events.flatMap(({ event }) =>
    event.type === "eval-end" ? [{ step: event.step, success: event.metrics[metric.evalSuccess] ?? 0 }] : [],
  );
}
