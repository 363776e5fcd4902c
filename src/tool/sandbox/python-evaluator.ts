import { LudusError } from "../../errors.ts";
import { type KnownOptions, refuseUnknownOptions } from "../../known-options.ts";
import { defaultSandbox } from "./default-sandbox.ts";
import { describeEnd } from "./describe-end.ts";
import { checkLimits } from "./limits.ts";
import {
  defaultPythonTestLimits,
  type PythonTestLimits,
  parsed,
  readSaid,
  type SpokenOutcome,
} from "./python-tests.ts";
import { pythonTestsProgram } from "./python-tests-program.ts";
import type { Ended, Sandbox } from "./sandbox.ts";

export interface PythonEvaluatorOptions {
  /** Where code runs; `bubblewrapSandbox()` by default. Its boxes need `python3`. */
  sandbox?: Sandbox;
  /** Programs in one box, one after the other, each in a process of its own; 64 by default. */
  batch?: number;
  limits?: Partial<PythonTestLimits>;
}

const knownPythonEvaluatorOptions: KnownOptions<PythonEvaluatorOptions> = { sandbox: true, batch: true, limits: true };

/** `value`: what the expression gives, as `PythonTest.expected` has it. `not-compiled`: the code, or the expression, cannot be parsed. */
export type PythonEvaluation =
  | { readonly kind: "value"; readonly value: unknown }
  | { readonly kind: "threw" | "not-compiled"; readonly message: string }
  | { readonly kind: "timeout" };

/** Evaluates expressions after code, many of them in a box. */
export interface PythonEvaluator {
  evaluate(code: string, expression: string, signal?: AbortSignal): Promise<PythonEvaluation>;
}

interface Waiting {
  readonly code: string;
  readonly expression: string;
  resolve(evaluation: PythonEvaluation): void;
  reject(error: unknown): void;
}

/**
 * Runs short programs of a policy at the rate at which it writes them: what is asked for while a box is busy goes into the next one together. Each
 * program has a process of its own, and a time of its own. Programs of one box can see each other's files and processes, so that values which must
 * not be known do not belong into `code` or `expression`: compare outside, and use `runPythonTests` where programs may work against each other.
 */
export function pythonEvaluator(options: PythonEvaluatorOptions = {}): PythonEvaluator {
  refuseUnknownOptions("pythonEvaluator", options, knownPythonEvaluatorOptions);
  const { sandbox = defaultSandbox(), batch = 64 } = options;
  const known = Object.keys(defaultPythonTestLimits);
  const limits = checkLimits({ ...defaultPythonTestLimits, ...options.limits }, known);
  if (!(Number.isInteger(batch) && batch >= 1)) {
    throw new LudusError("bad-option", {
      got: `batch = ${batch} of pythonEvaluator`,
      expected: "a whole number, 1 or more",
    });
  }
  const waiting: Waiting[] = [];
  let isRunning = false;
  async function drain(): Promise<void> {
    if (isRunning) return;
    isRunning = true;
    // what is asked for in the same turn of the loop goes together
    await new Promise(setImmediate);
    while (waiting.length > 0) {
      const taken = waiting.splice(0, batch);
      try {
        const evaluations = await runBatch(taken, limits, sandbox);
        for (const [index, each] of taken.entries()) each.resolve(evaluations[index]!);
      } catch (error) {
        for (const each of taken) each.reject(error);
      }
    }
    isRunning = false;
  }
  return {
    async evaluate(code, expression, signal) {
      signal?.throwIfAborted();
      const evaluation = await new Promise<PythonEvaluation>((resolve, reject) => {
        waiting.push({ code, expression, resolve, reject });
        void drain();
      });
      signal?.throwIfAborted();
      return evaluation;
    },
  };
}

/** A program that ends the box, or is the first not to be reached, costs the ones after it a box of their own. */
async function runBatch(
  asked: readonly Waiting[],
  limits: PythonTestLimits,
  sandbox: Sandbox,
): Promise<PythonEvaluation[]> {
  const done: PythonEvaluation[] = [];
  while (done.length < asked.length) {
    const left = asked.slice(done.length);
    const { said, ended } = await runOnce(left, limits, sandbox);
    const reached = said.indexOf(undefined);
    const told = reached < 0 ? said : said.slice(0, reached);
    done.push(...told.map((outcome) => toEvaluation(outcome!)));
    if (reached < 0) break;
    if (ended.kind === "cancelled" || ended.kind === "not-started") {
      throw new LudusError("command-not-run", {
        got: `python3 ${describeEnd(ended)}`,
        expected: "a box that has python3",
      });
    }
    done.push(ended.kind === "timeout" ? { kind: "timeout" } : { kind: "threw", message: describeEnd(ended) });
  }
  return done;
}

async function runOnce(asked: readonly Waiting[], limits: PythonTestLimits, sandbox: Sandbox) {
  const { testMs, outputBytes, timeoutMs, memoryMb } = limits;
  const runs = asked.map(({ code, expression }) => [code, expression]);
  const box = await sandbox.open({});
  let ended: Ended;
  try {
    ended = await box.exec("python3", {
      args: ["-S", "-c", pythonTestsProgram],
      env: { PYTHONHASHSEED: "1" },
      input: JSON.stringify({ code: "", runs, testMs, outputBytes }),
      limits: { timeoutMs, memoryMb, outputBytes: (outputBytes + 1_000) * (runs.length + 1) },
    });
  } finally {
    await box.close();
  }
  return { said: readSaid(ended.stdout, runs.length), ended };
}

function toEvaluation(said: SpokenOutcome): PythonEvaluation {
  switch (said.kind) {
    case "gave": {
      const value = parsed(said.text);
      return value === undefined ? { kind: "threw", message: "a value that is cut" } : { kind: "value", value };
    }
    case "timeout":
      return { kind: "timeout" };
    case "not-compiled":
      return { kind: "not-compiled", message: said.text };
    case "threw":
    case "ended":
      return { kind: "threw", message: said.text };
    default:
      return said satisfies never;
  }
}
