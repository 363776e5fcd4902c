import { InferenceSession, Tensor } from "onnxruntime-node";
import { errorText, LudusError } from "../../errors.ts";
import { Graph, neg, toOnnx } from "../../tensor/index.ts";
import { nativeCall } from "./native-calls.ts";

export type Feeds = Record<string, Tensor>;

/** A graph ready to run on the calling thread. */
export interface Session {
  readonly outputNames: readonly string[];
  /** Writes to `fetches`, where they are given. */
  run(feeds: Feeds, fetches?: Feeds): Promise<Feeds>;
  release(): Promise<void>;
}

export async function openSession(graph: Uint8Array, threads: number): Promise<Session> {
  const session = await nativeCall(() => createSession(graph, threads));
  return {
    outputNames: session.outputNames,
    run: async (feeds, fetches) =>
      (await nativeCall(() => (fetches === undefined ? session.run(feeds) : session.run(feeds, fetches)))) as Feeds,
    release: () => nativeCall(() => session.release()),
  };
}

async function createSession(graph: Uint8Array, threads: number): Promise<InferenceSession> {
  try {
    return await InferenceSession.create(graph, {
      executionProviders: ["cpu"],
      intraOpNumThreads: threads,
      interOpNumThreads: 1,
      executionMode: "sequential",
      graphOptimizationLevel: "all",
      logSeverityLevel: 3,
      // a memory plan per input shape makes nothing faster and holds a third more memory
      enableMemPattern: false,
      // each session has its own threads; if they spun between runs they would take the cores from the next session
      extra: { session: { force_spinning_stop: "1" } },
    });
  } catch (cause) {
    throw new LudusError("graph-refused", {
      got: errorText(cause),
      expected: "a graph that ONNX Runtime accepts",
      hint: "This is a fault of Ludus or of the installed onnxruntime-node version; please report it with the model's config.json.",
      cause,
    });
  }
}

let shared: Promise<boolean> | undefined;

/** Whether a tensor may lie in shared memory: the Node binding of ONNX Runtime takes it in Node 24, and refuses it in Node 22. */
export function takesSharedMemory(): Promise<boolean> {
  shared ??= trySharedMemory();
  return shared;
}

async function trySharedMemory(): Promise<boolean> {
  const graph = new Graph();
  const session = await openSession(toOnnx({ y: neg(graph.input("x", "float32", [1])) }), 1);
  try {
    await session.run({ x: floats(new Float32Array(new SharedArrayBuffer(4)), [1]) });
    return true;
  } catch {
    return false;
  } finally {
    await session.release();
  }
}

export function floats(data: Float32Array, dims: readonly number[]): Tensor {
  return new Tensor("float32", data, dims);
}

/**
 * Whole numbers of at least 0 as int64, through the low words: BigInt conversion of each would cost more than the run. Every
 * second of `words` is a number, so that the tensor can be filled again.
 */
export function integers(values: ArrayLike<number>, dims: readonly number[]): { tensor: Tensor; words: Int32Array } {
  const wide = new BigInt64Array(values.length);
  const words = new Int32Array(wide.buffer);
  for (let i = 0; i < values.length; i++) words[2 * i] = values[i];
  return { tensor: new Tensor("int64", wide, dims), words };
}

/** The values of an int64 output, as numbers. */
export function fromIntegers(tensor: Tensor): Int32Array {
  const data = tensor.data as BigInt64Array;
  const words = new Int32Array(data.buffer, data.byteOffset, data.length * 2);
  return Int32Array.from({ length: data.length }, (_, i) => words[2 * i]);
}

/** `[length, before + length]`: 0 where a token may look, very negative where it would see its future. */
export function causalMask(length: number, before = 0): Float32Array {
  const width = before + length;
  const mask = new Float32Array(length * width);
  for (let row = 0; row < length; row++) mask.fill(hidden, row * width + before + row + 1, (row + 1) * width);
  return mask;
}

/** Added to a score that must not count. Not -Infinity: a row of nothing else would become NaN. */
export const hidden = -1e9;
