import { join } from "node:path";
import { findPython } from "../../scripts/find-python.ts";
import { LudusError } from "../../src/errors.ts";
import type { BenchmarkContext } from "../benchmark.ts";
import { type Child, startChild } from "./child.ts";

/** Offline, quiet, and no pool of compiler processes that would stay behind. */
const pythonSettings = {
  HF_HUB_OFFLINE: "1",
  TRANSFORMERS_VERBOSITY: "error",
  TOKENIZERS_PARALLELISM: "false",
  TORCHINDUCTOR_COMPILE_THREADS: "1",
  PYTHONWARNINGS: "ignore",
  PYTHONDONTWRITEBYTECODE: "1",
};

export function startLudus({ root, signal }: BenchmarkContext, label: string): Child {
  return startChild({ label, command: process.execPath, args: [join(root, "bench/ludus/serve.ts")], signal });
}

export function startPython(python: string, { root, signal }: BenchmarkContext, label: string): Child {
  const args = [join(root, "bench/baselines/serve.py")];
  return startChild({ label, command: python, args, env: pythonSettings, signal });
}

/** The Python of the parity suites. */
export function pythonFor({ root }: BenchmarkContext): ReturnType<typeof findPython> {
  return findPython(root, process.env.LUDUS_PYTHON || undefined);
}

/** Where a benchmark has nothing to say without baselines. */
export function requirePython(context: BenchmarkContext): string {
  const search = pythonFor(context);
  if (search.found) return search.python;
  throw new LudusError("no-python", {
    got: search.reason,
    expected: "a Python with torch, transformers and trl, for the baselines",
    hint: "Run scripts/setup-python.sh once, or set LUDUS_PYTHON.",
  });
}
