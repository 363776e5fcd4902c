import { Worker } from "node:worker_threads";
import type { ModelConfig } from "../model/model-config.ts";
import { maxStages, type Stage, type StagesOf, type StepArguments } from "./decode-stages.ts";
import type { CompiledKernels } from "./kernels/compile-kernels.ts";
import type { StepBuffers } from "./kernels/kernels.ts";

// Threads that compute the stages of a step together. A thread takes the next chunk of a stage until there is none, then waits until
// those of the others are done. Nobody waits for a thread that has not taken a chunk: one that the system does not run costs nothing
// but its share, and finds the step over. What the threads know of each other are words of shared memory:
// the number of the step, its arguments, and for each stage the next chunk, marked with the step it belongs to, and how many are done.

/** What a helper is started with. */
export interface HelperSetup {
  config: ModelConfig;
  kernels: CompiledKernels;
  memory: WebAssembly.Memory;
  at: StepBuffers;
  thread: number;
  threads: number;
  words: Int32Array<SharedArrayBuffer>;
}

const word = { step: 0, weights: 1, written: 2, sampled: 3 } as const;
/** Words of a stage, of which two are used: stages that are next to each other do not share a cache line. */
const stageWords = 16;
const nextOf = (stage: number) => (stage + 1) * stageWords;
const doneOf = (stage: number) => nextOf(stage) + 1;
/** A mark is the step's number above this many bits for a chunk, which is `maxChunks` at most. */
const chunkBits = 11;
const chunkMask = 2 ** chunkBits - 1;
const steps = 2 ** (31 - chunkBits);
/** How often a word is looked at before the thread sleeps: some tens of microseconds, longer than most waits. */
const looks = 10_000;
const longestSleepMs = 1;

/** The side of the thread that samples. */
export class DecodeTeam {
  readonly #words: Int32Array<SharedArrayBuffer>;
  readonly #stages: number;
  readonly #stagesOf: StagesOf;
  readonly #hasHelpers: boolean;

  constructor(setup: Omit<HelperSetup, "thread" | "words">, stagesOf: StagesOf) {
    this.#stages = maxStages(setup.config.layers);
    this.#words = new Int32Array(new SharedArrayBuffer(4 * stageWords * (this.#stages + 1)));
    this.#stagesOf = stagesOf;
    this.#hasHelpers = setup.threads > 1;
    for (let thread = 1; thread < setup.threads; thread++) startHelper({ ...setup, thread, words: this.#words });
  }

  run(step: StepArguments): void {
    if (!this.#hasHelpers) {
      for (const stage of this.#stagesOf(step)) for (let chunk = 0; chunk < stage.chunks; chunk++) stage.run(chunk);
      return;
    }
    const words = this.#words;
    const number = (words[word.step] + 1) % steps;
    // marks first: a helper that reads arguments of the new step with the number of the old one finds no chunk
    for (let stage = 0; stage < this.#stages; stage++) {
      Atomics.store(words, nextOf(stage), number << chunkBits);
      Atomics.store(words, doneOf(stage), 0);
    }
    for (const name of ["weights", "written", "sampled"] as const) Atomics.store(words, word[name], step[name] | 0);
    Atomics.store(words, word.step, number);
    Atomics.notify(words, word.step);
    runStages(words, number, this.#stagesOf(step));
  }
}

function startHelper(setup: HelperSetup): void {
  const extension = import.meta.url.endsWith(".ts") ? ".ts" : ".js";
  const worker = new Worker(new URL(`./decode-helper${extension}`, import.meta.url), {
    workerData: setup,
    execArgv: [],
  });
  worker.unref();
}

/** The side of a helper: takes part in steps until its thread is ended. */
export function helpForever(words: Int32Array<SharedArrayBuffer>, stagesOf: StagesOf): never {
  let number = 0;
  while (true) {
    number = waitWhile(words, word.step, (value) => value === number);
    const [weights, written, sampled] = [word.weights, word.written, word.sampled].map((i) => Atomics.load(words, i));
    runStages(words, number, stagesOf({ weights: weights >>> 0, written, sampled }));
  }
}

function runStages(words: Int32Array<SharedArrayBuffer>, number: number, stages: Iterable<Stage>): void {
  let index = 0;
  for (const stage of stages) if (!takePart(words, number, index++, stage)) return;
}

/** Computes chunks of a stage until all are done; false when the step is over. */
function takePart(
  words: Int32Array<SharedArrayBuffer>,
  number: number,
  index: number,
  { chunks, run }: Stage,
): boolean {
  const [next, done] = [nextOf(index), doneOf(index)];
  while (true) {
    const mark = Atomics.load(words, next);
    if (mark >> chunkBits !== number) return false;
    const chunk = mark & chunkMask;
    if (chunk >= chunks) break;
    if (Atomics.compareExchange(words, next, mark, mark + 1) !== mark) continue;
    try {
      run(chunk);
    } finally {
      // also where it throws, which ends the thread and with it the engine: the others must not wait for it forever
      if (Atomics.add(words, done, 1) + 1 === chunks) Atomics.notify(words, done);
    }
  }
  waitWhile(words, done, (value) => value !== chunks && Atomics.load(words, word.step) === number);
  return true;
}

/** Waits for a word to change, awake at first. Sleep ends when the word is notified of, or soon. */
function waitWhile(words: Int32Array<SharedArrayBuffer>, index: number, isWaiting: (value: number) => boolean): number {
  for (let look = 0; ; look++) {
    const value = Atomics.load(words, index);
    if (!isWaiting(value)) return value;
    if (look >= looks) Atomics.wait(words, index, value, index === word.step ? undefined : longestSleepMs);
  }
}
