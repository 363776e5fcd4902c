import { createHash } from "node:crypto";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { availableParallelism } from "node:os";
import { basename, extname, join } from "node:path";
import { setInterval } from "node:timers";
import { z } from "zod";
import { LudusError } from "../../errors.ts";
import { type RunCatalog, sqliteRuns } from "../../store/index.ts";
import type { TrainConfig } from "../../train/index.ts";
import type { Terminal } from "../command.ts";
import { LiveLine } from "../live-line.ts";
import { loadConfig } from "../load-config.ts";
import { usageError } from "../parse-options.ts";
import { setFields } from "../set-fields.ts";
import { EventFollower } from "./follow-events.ts";
import { gridOf, runsOf, type Setting, type SweepRun, settingArguments, settingText } from "./sweep-grid.ts";
import { errorLine, type RunOutcome, successOf, sweepResult, sweepText } from "./sweep-result.ts";
import { eventsFile, trainInProcess } from "./train-process.ts";

export interface SweepOptions {
  readonly set?: readonly string[];
  readonly seeds?: number;
  readonly parallel?: number;
  readonly name?: string;
  readonly from?: string;
  readonly "no-cache"?: boolean;
  readonly json?: boolean;
  readonly quiet?: boolean;
}

/** Trains a file with every combination of values and several seeds, and compares them. Returns the exit status. */
export async function runSweep(
  file: string,
  options: SweepOptions,
  terminal: Terminal,
  signal: AbortSignal,
): Promise<number> {
  const { seeds = 3, parallel = 1 } = options;
  checkCounts(seeds, parallel);
  const grid = gridOf(options.set ?? []);
  const firstSeed = await checkSettings(file, grid);
  const folder = join("runs", options.name ?? `${basename(file, extname(file))}-sweep`);
  const runs = runsOf(grid, { first: firstSeed, count: seeds }, folder);
  if (changedSince(folder, file)) {
    terminal.stderr.write(
      `${file} has changed since this sweep began: finished runs are of the earlier file. Another --name runs them all.\n`,
    );
  }
  const threads = Math.max(1, Math.floor(availableParallelism() / parallel));
  const sweep = new Sweep({ file, threads, signal, args: trainArguments(options) }, terminal, options.quiet === true);
  const outcomes = await sweep.run(runs, parallel);
  const result = sweepResult(folder, outcomes);
  writeFileSync(join(folder, "results.json"), `${JSON.stringify(result, null, 2)}\n`);
  terminal.stdout.write(options.json ? `${JSON.stringify(result)}\n` : sweepText(result, terminal.stdout));
  if (signal.aborted) terminal.stderr.write("Stopped. The same command goes on where it was.\n");
  return outcomes.every(({ state }) => state === "done") ? 0 : 1;
}

function trainArguments({ from, "no-cache": noCache }: SweepOptions): string[] {
  return [...(from === undefined ? [] : ["--from", from]), ...(noCache ? ["--no-cache"] : [])];
}

function checkCounts(seeds: number, parallel: number): void {
  const cores = availableParallelism();
  if (seeds < 1) throw usageError("bad-option", { got: `--seeds ${seeds}`, expected: "at least 1" });
  if (parallel >= 1 && parallel <= cores) return;
  throw usageError("bad-option", {
    got: `--parallel ${parallel}`,
    expected: `1 to ${cores}: this machine has ${cores} ${cores === 1 ? "core" : "cores"}`,
  });
}

/** What is wrong with a setting is said before the first run. Returns the seed of the file. */
async function checkSettings(file: string, grid: readonly Setting[]): Promise<number> {
  const config = await loadConfig(file);
  for (const setting of grid) checkMeasured(file, setFields(config, settingArguments(setting)));
  // each run makes its own
  if (typeof config.policy !== "function") await config.policy.engine.close();
  return config.seed ?? 0;
}

function checkMeasured(file: string, { eval: evaluation }: TrainConfig): void {
  if (evaluation?.tasks !== 0) return;
  throw new LudusError("bad-config", {
    got: `${file} with eval.tasks = 0`,
    expected: "held-out tasks: their success is what a sweep compares",
    hint: "As in --set eval.tasks=200.",
  });
}

const Begun = z.object({ file: z.string(), sha256: z.string() });

/** Notes which file the sweep is of. True where it was another, or another text, before. */
function changedSince(folder: string, file: string): boolean {
  mkdirSync(folder, { recursive: true });
  const path = join(folder, "sweep.json");
  const now = { file, sha256: createHash("sha256").update(readFileSync(file)).digest("hex") };
  let before: z.infer<typeof Begun> | undefined;
  try {
    before = Begun.parse(JSON.parse(readFileSync(path, "utf8")));
  } catch {
    // the first time
  }
  if (before === undefined) writeFileSync(path, `${JSON.stringify(now, null, 2)}\n`);
  return before !== undefined && before.sha256 !== now.sha256;
}

const doneReasons: readonly string[] = ["finished", "early-stop", "time-budget", "token-budget"];

interface SweepPlan {
  readonly file: string;
  readonly threads: number;
  readonly signal: AbortSignal;
  readonly args: readonly string[];
}

class Sweep {
  readonly #plan: SweepPlan;
  readonly #terminal: Terminal;
  readonly #isQuiet: boolean;
  readonly #runs: RunCatalog = sqliteRuns();
  readonly #live: LiveLine;
  readonly #running = new Map<SweepRun, EventFollower>();
  #ended = 0;
  #total = 0;

  constructor(plan: SweepPlan, terminal: Terminal, isQuiet: boolean) {
    this.#plan = plan;
    this.#terminal = terminal;
    this.#isQuiet = isQuiet;
    this.#live = new LiveLine(terminal.stderr);
  }

  async run(runs: readonly SweepRun[], parallel: number): Promise<RunOutcome[]> {
    this.#total = runs.length;
    const outcomes: RunOutcome[] = runs.map((run) => ({ ...run, state: "not-run" }));
    const queue = [...runs.keys()];
    const ticking = setInterval(() => this.#show(), 1000);
    const work = async () => {
      for (let i = queue.shift(); i !== undefined && !this.#plan.signal.aborted; i = queue.shift()) {
        outcomes[i] = await this.#one(runs[i]);
        this.#ended++;
        this.#tell(outcomes[i]);
      }
    };
    try {
      await Promise.all(Array.from({ length: parallel }, work));
    } finally {
      clearInterval(ticking);
      this.#live.end();
    }
    return outcomes;
  }

  async #one(run: SweepRun): Promise<RunOutcome> {
    const known = await this.#runs.info(run.run);
    if (known?.ended !== undefined && doneReasons.includes(known.ended)) return this.#done(run);
    const follower = new EventFollower(join(run.run, eventsFile));
    this.#running.set(run, follower);
    const { file, threads, signal, args } = this.#plan;
    const sets = [...settingArguments(run.setting), `seed=${run.seed}`].flatMap((set) => ["--set", set]);
    const more = [...args, ...sets, ...(known === undefined ? [] : ["--resume"])];
    const { status, stderr } = await trainInProcess({ file, run: run.run, args: more, threads, signal });
    this.#running.delete(run);
    if (status === 0) return this.#done(run);
    if (signal.aborted) return { ...run, state: "stopped" };
    const text = stderr.trim() || `ended by a signal or with status ${status}, without a word`;
    return { ...run, state: "failed", error: text };
  }

  async #done(run: SweepRun): Promise<RunOutcome> {
    const success = await successOf(this.#runs, run.run);
    return success === undefined
      ? { ...run, state: "failed", error: "the run ended without an evaluation on held-out tasks" }
      : { ...run, state: "done", success };
  }

  /** A line for each run that has ended. */
  #tell({ setting, seed, state, success, error }: RunOutcome): void {
    if (this.#isQuiet) return;
    const what = success === undefined ? errorLine(error ?? "stopped") : `held-out success ${success.toFixed(2)}`;
    this.#live.end();
    this.#terminal.stderr.write(
      `${this.#ended}/${this.#total} ${settingText(setting)}, seed ${seed}: ${state}, ${what}\n`,
    );
  }

  #show(): void {
    if (this.#isQuiet) return;
    const lines = [...this.#running].map(
      ([{ setting, seed }, follower]) => `${settingText(setting)}, seed ${seed}: ${follower.text()}`,
    );
    this.#live.show(lines.join(" | ").slice(0, Math.max(20, (this.#terminal.stderr.columns ?? 200) - 1)));
  }
}
