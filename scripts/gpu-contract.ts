// The engine contract suite on the PyTorch engine of a GPU, for each family of models in float32 and bfloat16. Needs Node and a
// Python for the worker, and no test runner: see "On a machine with a GPU" in CONTRIBUTING.md.

import { registerHooks } from "node:module";
import { availableParallelism } from "node:os";
import { parseArgs } from "node:util";
import type { Precision } from "../src/engine/contract/context.ts";
import { type ModelConfig, tiny } from "../src/engine/model/model-config.ts";
import type { Outcome } from "./gpu-contract/vitest.ts";
import { Workers } from "./gpu-contract/workers.ts";

const families: readonly ModelConfig["family"][] = ["llama", "qwen2", "qwen3"];
const precisions: readonly Precision[] = ["float32", "bfloat16"];

const help = `Runs the engine contract suite on the PyTorch engine: one line per family and dtype, a JSON object last.

Usage: node scripts/gpu-contract.ts [options]

  --device <name>      "cuda" by default; "cpu" shows that the program runs
  --families <names>   ${families.join(",")} by default
  --dtypes <names>     ${precisions.join(",")} by default
  --only <text>        tests whose name contains it
  --jobs <n>           suites at the same time; half the processors by default
  --compile            with torch.compile, as the engine does on a GPU by default; minutes more
  --timeout <seconds>  of one test; 240 by default
  --verbose            name every test, and show the workers' logs

Exit status: 0 when nothing failed, 1 when a test did, 2 when an option was not understood.

Example:
  LUDUS_PYTHON=python3 node scripts/gpu-contract.ts --families qwen2 --dtypes bfloat16
`;

class UsageError extends Error {}

function read() {
  const text = { type: "string" } as const;
  const options = {
    device: { ...text, default: "cuda" },
    families: { ...text, default: families.join() },
    dtypes: { ...text, default: precisions.join() },
    only: text,
    jobs: { ...text, default: String(Math.max(1, Math.floor(availableParallelism() / 2))) },
    compile: { type: "boolean", default: false },
    timeout: { ...text, default: "240" },
    verbose: { type: "boolean", default: false },
    help: { type: "boolean", default: false, short: "h" },
  } as const;
  let values: ReturnType<typeof parseArgs<{ options: typeof options }>>["values"];
  try {
    values = parseArgs({ options }).values;
  } catch (error) {
    throw new UsageError((error as Error).message);
  }
  return {
    ...values,
    families: listed("families", values.families, families),
    dtypes: listed("dtypes", values.dtypes, precisions),
    jobs: positive("jobs", values.jobs),
    timeoutMs: 1000 * positive("timeout", values.timeout),
  };
}

function listed<T extends string>(option: string, given: string, known: readonly T[]): T[] {
  return given.split(",").map((name) => {
    const found = known.find((one) => one === name);
    if (found === undefined) throw new UsageError(`--${option}: got "${name}", expected some of ${known.join(",")}`);
    return found;
  });
}

function positive(option: string, given: string): number {
  const number = Number(given);
  if (!Number.isInteger(number) || number < 1) throw new UsageError(`--${option}: got "${given}", expected 1 or more`);
  return number;
}

type Options = ReturnType<typeof read>;

/** Heads of 16, which the worker's Triton kernels take, and small enough that starting workers is most of the time. */
function modelOf(family: ModelConfig["family"]): ModelConfig {
  const sizes = { vocabularySize: 24, width: 64, headWidth: 16, keyValueHeads: 2, layers: 2, contextLength: 64 };
  return tiny({ family, ...sizes, initializerRange: 0.12 });
}

// the suite imports vitest, which is not there
registerHooks({
  resolve: (specifier, context, next) =>
    next(specifier === "vitest" ? new URL("./gpu-contract/vitest.ts", import.meta.url).href : specifier, context),
});
const { engineContract } = await import("../src/engine/engine.contract.ts");
const { runSuite } = await import("./gpu-contract/vitest.ts");

async function runOne(family: ModelConfig["family"], precision: Precision, options: Options): Promise<Outcome[]> {
  const start = performance.now();
  const workers = new Workers(options.verbose ? (line) => process.stderr.write(`${line}\n`) : () => {});
  const make = (dtype: Precision) =>
    workers.open({
      model: modelOf(family),
      valueHead: true,
      seed: 3,
      device: options.device,
      dtype,
      compile: options.compile,
      // several workers share a GPU
      maxCacheBytes: 1 << 26,
      ...(options.device === "cpu" ? { threads: 1 } : {}),
    });
  const outcomes = await runSuite(
    () =>
      engineContract(`${family} in ${precision}`, {
        make: () => make(precision),
        makeExact: () => make("float32"),
        learns: true,
        rounding: "by-batch",
        precision,
      }),
    options,
  );
  await workers.close();
  const { passed, failed, skipped } = countOf(outcomes);
  const seconds = Math.round((performance.now() - start) / 1000);
  console.log(`${family} ${precision}: ${passed} passed, ${failed} failed, ${skipped} skipped in ${seconds} s`);
  for (const { name, state, note } of outcomes) {
    if (state !== "passed" || options.verbose)
      console.log(`  ${state}: ${name}${note && `\n    ${note.replaceAll("\n", "\n    ")}`}`);
  }
  return outcomes;
}

function countOf(outcomes: readonly Outcome[]) {
  const count = (state: Outcome["state"]) => outcomes.filter((outcome) => outcome.state === state).length;
  return { passed: count("passed"), failed: count("failed"), skipped: count("skipped") };
}

async function main(): Promise<number> {
  const outcomes: Outcome[] = [];
  // of calls that a failed test did not wait for: one more failure, not the end of every suite
  process.on("unhandledRejection", (error) => {
    outcomes.push({ name: "nothing is rejected unnoticed", state: "failed", note: String(error) });
    console.log(`  failed: a rejection that no test waited for\n    ${error}`);
  });
  const options = read();
  if (options.help) {
    process.stdout.write(help);
    return 0;
  }
  const waiting = options.families.flatMap((family) => options.dtypes.map((dtype) => ({ family, dtype })));
  const suites = waiting.length;
  const work = async () => {
    for (let next = waiting.shift(); next !== undefined; next = waiting.shift())
      outcomes.push(...(await runOne(next.family, next.dtype, options)));
  };
  await Promise.all(Array.from({ length: options.jobs }, work));
  const counts = countOf(outcomes);
  console.log(JSON.stringify({ suites, ...counts }));
  return counts.failed === 0 && counts.passed > 0 ? 0 : 1;
}

try {
  process.exitCode = await main();
} catch (error) {
  if (!(error instanceof UsageError)) throw error;
  process.stderr.write(`${error.message}\n\n${help}`);
  process.exitCode = 2;
}
// a test that failed may have left its engine open
process.exit();
