import { spawn } from "node:child_process";
import { createInterface } from "node:readline";
import { LudusError } from "../../src/errors.ts";
import type { BenchmarkContext } from "../benchmark.ts";
import { RunOutcome, type RunSpec } from "./spec.ts";

/** A process of its own: what one run leaves in memory or takes down is not another's. */
export function playRun(
  spec: RunSpec,
  label: string,
  { root, signal, progress }: BenchmarkContext,
): Promise<RunOutcome> {
  return new Promise((resolve, reject) => {
    const threads = spec.engine === "embedded" ? { threads: 2 } : {};
    const args = ["bench/worlds/play.ts", JSON.stringify({ ...threads, ...spec })];
    const child = spawn(process.execPath, args, { cwd: root, stdio: ["ignore", "pipe", "pipe"], signal });
    const [lines, said] = [createInterface({ input: child.stderr }), createInterface({ input: child.stdout })];
    let [last, words] = ["", ""];
    lines.on("line", (line) => {
      words = `${words}${line}\n`.slice(-2000);
      if (/^(?:step|held-out|\S+: \d+ steps)/.test(line)) progress(`${label}: ${line}`);
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
