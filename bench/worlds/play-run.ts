import { spawn } from "node:child_process";
import { createInterface } from "node:readline";
import { errorText, LudusError } from "../../src/errors.ts";
import { createLimiter } from "../../src/limiter.ts";
import type { BenchmarkContext } from "../benchmark.ts";
import { RunOutcome, type RunSpec } from "./spec.ts";

/** A process of its own: what one run leaves in memory or takes down is not another's. */
function playRun(spec: RunSpec, label: string, { root, signal, progress }: BenchmarkContext): Promise<RunOutcome> {
  return new Promise((resolve, reject) => {
    const threads = spec.engine === "embedded" ? { threads: 2 } : {};
    const args = ["bench/worlds/play.ts", JSON.stringify({ ...threads, ...spec })];
    const child = spawn(process.execPath, args, { cwd: root, stdio: ["ignore", "pipe", "pipe"], signal });
    const [lines, said] = [createInterface({ input: child.stderr }), createInterface({ input: child.stdout })];
    let [last, words] = ["", ""];
    lines.on("line", (line) => {
      words = line.startsWith("failed: ") ? line.slice("failed: ".length) : `${words}${line}\n`.slice(-2000);
      if (/^(?:step|held-out|seconds|\S+: \d+ steps)/.test(line)) progress(`${label}: ${line}`);
    });
    said.on("line", (line) => (last = line));
    child.on("error", reject);
    child.on("close", (code) => {
      if (code === 0) return resolve(RunOutcome.parse(JSON.parse(last)));
      reject(
        new LudusError("child-failed", { got: `${label} ended with ${code}: ${words}`, expected: "a trained policy" }),
      );
    });
  });
}

export interface WantedRun {
  readonly method: string;
  readonly label: string;
  readonly spec: RunSpec;
}

/** All of them, so many at once. `keep` is told of each that ends; one that fails does not stop the others, and is told of at the end. */
export async function playRuns(
  wanted: readonly WantedRun[],
  { jobs, keep }: { jobs: number; keep(run: WantedRun, outcome: RunOutcome): void },
  context: BenchmarkContext,
): Promise<void> {
  if (wanted.length === 0) return;
  context.progress(`${wanted.length} runs, ${jobs} at once; Ctrl-C keeps those that have ended`);
  const limit = createLimiter(jobs);
  const failures: string[] = [];
  let done = 0;
  const play = async (run: WantedRun) => {
    if (context.signal.aborted) return;
    try {
      const outcome = await playRun(run.spec, run.label, context);
      keep(run, outcome);
      const after = outcome.after === undefined ? "" : ` -> ${outcome.after.mean.toFixed(3)}`;
      const success = `${outcome.before.mean.toFixed(3)}${after} in ${outcome.seconds.toFixed(0)} s (score ${(outcome.afterReward ?? outcome.beforeReward).toFixed(3)})`;
      context.progress(`[${++done}/${wanted.length}] ${run.label}: ${success}`);
    } catch (error) {
      context.signal.throwIfAborted();
      failures.push(errorText(error));
      context.progress(`[${++done}/${wanted.length}] ${errorText(error)}`);
    }
  };
  await Promise.all(wanted.map((run) => limit(() => play(run))));
  if (failures.length === 0) return;
  const got = `${failures.length} of ${wanted.length} runs failed: ${failures.join("\n")}`;
  throw new LudusError("child-failed", { got, expected: "runs that end; those that did are kept" });
}

export function parseJobs(text: string, refuse: (got: string, expected: string) => LudusError): number {
  const jobs = Number(text);
  if (!Number.isInteger(jobs) || jobs < 1) throw refuse(`--jobs ${text}`, "a whole number from 1");
  return jobs;
}

export function parseEngine(text: string | undefined, refuse: (got: string, expected: string) => LudusError) {
  if (text === undefined || text === "embedded" || text === "cuda") return text;
  throw refuse(`--engine ${text}`, "embedded or cuda");
}
