import { spawn } from "node:child_process";
import { join } from "node:path";
import { LudusError } from "../../src/errors.ts";
import type { BenchmarkContext } from "../benchmark.ts";

/** Runs a baseline in Python: what it says on stderr is progress, its last line of stdout the result as JSON. */
export async function runPython(
  { root, signal, progress }: BenchmarkContext,
  script: string,
  args: readonly string[],
): Promise<unknown> {
  const python = process.env.LUDUS_PYTHON || "python3";
  const child = spawn(python, [join(root, script), ...args], { stdio: ["ignore", "pipe", "pipe"], signal });
  let out = "";
  let said = "";
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    out += text;
  });
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    said = (said + text).slice(-4000);
    for (const line of text.split("\n")) if (/^(generate|train|recompute)/.test(line)) progress(line);
  });
  const status = await new Promise<number | null>((resolve, reject) => child.on("close", resolve).on("error", reject));
  if (status !== 0) throw new LudusError("baseline-failed", { got: said, expected: "measurements of transformers" });
  return JSON.parse(out.trim().split("\n").at(-1)!);
}
