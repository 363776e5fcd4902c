import { once } from "node:events";
import { setImmediate as turn } from "node:timers/promises";
import { Worker, type WorkerOptions } from "node:worker_threads";
import { kernelBytes, kernelTrial } from "../../src/engine/embedded/kernels/compile-kernels.ts";
import { type KernelShape, kernelShape } from "../../src/engine/embedded/kernels/kernel-shape.ts";
import { withNote } from "../../src/engine/embedded/kernels/wasm-code.ts";
import { compileWide } from "../../src/engine/embedded/kernels/wide-modules.ts";
import { type ModelConfig, small, tiny } from "../../src/engine/model/model-config.ts";
import { createRng } from "../../src/random.ts";

/** What a thread of the soak has done, by name. Names that end in `different` are failures. */
export type Counts = Record<string, number>;
export type Role = "kernels" | "webassembly" | "javascript" | "runtime";

/** A model for onnxruntime-web. */
export interface WebModel {
  path: string;
  config: ModelConfig;
}

interface Case {
  shape: KernelShape;
  panelWidth: number;
  /** What the kernels write when they are compiled before any flag was touched. */
  expected: Uint8Array;
}

const configs = [
  tiny({ vocabularySize: 259 }),
  small({ vocabularySize: 259 }),
  small({ vocabularySize: 100, family: "qwen2" }),
  tiny({ vocabularySize: 33, width: 30, heads: 3, headWidth: 10, keyValueHeads: 1 }),
];

/** V8's own, in every version that this runs on. */
const tieringBudget = 13_000_000;
const isWide = Number.parseInt(process.versions.v8, 10) >= 13;

// distinct bytes: V8 would take the same ones for the same module
let notes = 0;
const note = (role: string) => `${role} ${process.pid} ${notes++}`;

function makeCases(role: Role): Case[] {
  return configs.flatMap((config) =>
    [8, 16].map((panelWidth) => {
      const shape = kernelShape(config);
      const plain = new WebAssembly.Module(withNote(kernelBytes(shape, panelWidth), note(role)));
      return { shape, panelWidth, expected: kernelTrial(shape, panelWidth)(plain) };
    }),
  );
}

function compare(
  counts: Counts,
  name: string,
  { shape, panelWidth, expected }: Case,
  module: WebAssembly.Module,
): void {
  const isSame = Buffer.compare(kernelTrial(shape, panelWidth)(module), expected) === 0;
  counts[name]++;
  counts[`${name}_different`] += isSame ? 0 : 1;
}

type Round = (round: number, counts: Counts) => Promise<void>;

/** Sets the flags, compiles, unsets them, and compares every kernel's bits: what an engine's start does, without end. */
function kernels(counts: Counts): Round {
  Object.assign(counts, { rounds: 0, windows: 0, wide_modules: 0, wide_modules_different: 0 });
  const cases = makeCases("kernels");
  return async (round) => {
    // one or two modules while the flags are set
    const chosen = [cases[round % cases.length], ...(round % 3 === 0 ? [cases[(round + 3) % cases.length]] : [])];
    const all = chosen.map(({ shape, panelWidth }) => ({
      tryOut: kernelTrial(shape, panelWidth),
      bytes: withNote(kernelBytes(shape, panelWidth), note("wide")),
    }));
    // where V8 cannot join vectors no engine sets flags, and neither does this
    const modules = isWide ? compileWide(all, tieringBudget) : all.map(({ bytes }) => new WebAssembly.Module(bytes));
    if (isWide) counts.windows++;
    counts.rounds++;
    modules.forEach((module, i) => {
      compare(counts, "wide_modules", chosen[i], module);
    });
  };
}

const compileAsync = (WebAssembly as unknown as { compile(bytes: Uint8Array): Promise<WebAssembly.Module> }).compile;

/** WebAssembly of somebody else: compiled in both ways, lazily as V8 likes it, and run until V8 optimizes it. */
function webassembly(counts: Counts): Round {
  Object.assign(counts, { other_modules: 0, other_modules_different: 0 });
  const cases = makeCases("webassembly");
  return async (round) => {
    const one = cases[(round * 5) % cases.length];
    const bytes = withNote(kernelBytes(one.shape, one.panelWidth), note("other"));
    const module = round % 2 === 0 ? new WebAssembly.Module(bytes) : await compileAsync(bytes);
    for (let run = 0; run < 5; run++) compare(counts, "other_modules", one, module);
  };
}

/** What one thread posts before it ends. */
async function answer(thread: string | URL, options: WorkerOptions): Promise<unknown> {
  const worker = new Worker(thread, options);
  const [message] = await once(worker, "message");
  await worker.terminate();
  return message;
}

/** A large module of somebody else, compiled and run in a new thread each time. */
function runtime(counts: Counts, model: WebModel): Round {
  Object.assign(counts, { runtimes: 0, runtimes_different: 0 });
  const url = new URL("./web-runtime-thread.ts", import.meta.url);
  let expected: string | undefined;
  return async () => {
    const results = (await answer(url, { workerData: { ...model, runs: 40 } })) as string[];
    expected ??= results[0];
    counts.runtimes++;
    counts.runtimes_different += results.length === 1 && results[0] === expected ? 0 : 1;
  };
}

/** JavaScript that is compiled and optimized all the time, and threads that start. */
function javascript(counts: Counts): Round {
  Object.assign(counts, { functions: 0, functions_different: 0, threads: 0, threads_different: 0 });
  const rng = createRng(3);
  return async (round) => {
    const [factor, length] = [1 + rng.integer(1000), 2000 + rng.integer(2000)];
    const sum = new Function("n", `let s = 0; for (let i = 0; i < n; i++) s = (s + i * ${factor}) | 0; return s;`);
    const expected = Number(BigInt.asIntN(32, (BigInt(factor) * BigInt(length) * BigInt(length - 1)) / 2n));
    let isSame = true;
    for (let call = 0; call < 200; call++) isSame &&= sum(length) === expected;
    counts.functions++;
    counts.functions_different += isSame ? 0 : 1;
    if (round % 20 !== 0) return;
    const code = `require("node:worker_threads").parentPort.postMessage((${sum})(${length}))`;
    const told = await answer(code, { eval: true });
    counts.threads++;
    counts.threads_different += told === expected ? 0 : 1;
  };
}

const roles: Record<Role, (counts: Counts, model: WebModel) => Round> = { kernels, webassembly, javascript, runtime };

/** Begins a role, tells when it is ready, waits until it may go on, and goes on until it is stopped. */
export async function play(
  { role, model }: { role: Role; model: WebModel },
  { ready, report, isStopped }: { ready(): Promise<void>; report(counts: Counts): void; isStopped(): boolean },
): Promise<void> {
  const counts: Counts = {};
  const round = roles[role](counts, model);
  await ready();
  let toldAt = performance.now();
  for (let n = 0; !isStopped(); n++) {
    await round(n, counts);
    await turn();
    if (performance.now() - toldAt < 1000) continue;
    toldAt = performance.now();
    report(counts);
  }
  report(counts);
}
