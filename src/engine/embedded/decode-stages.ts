import type { KernelShape } from "./kernels/kernel-shape.ts";
import type { Kernels } from "./kernels/kernels.ts";
import { type PackedPlaces, type PackedProduct, packedPlaces } from "./kernels/packed-weights.ts";

/** A part of a step that needs what the parts before it have computed. Its chunks can be computed in any order, at the same time. */
export interface Stage {
  chunks: number;
  run(chunk: number): void;
}

/** What a step is computed from, besides what lies in the memory of the kernels. */
export interface StepArguments {
  /** Where the packed weights begin. */
  weights: number;
  /** Tokens of the step, and how many of them, the first ones, a next token is drawn after. */
  written: number;
  sampled: number;
}

export interface StagesOptions {
  shape: KernelShape;
  kernels: Kernels;
  panelWidth: number;
  /** How many threads take chunks. */
  threads: number;
}

export type StagesOf = (step: StepArguments) => Iterable<Stage>;

/** The stages of the steps of one thread's kernels. */
export function stagesOf(options: StagesOptions): StagesOf {
  const known = new Map<number, PackedPlaces>();
  return (step) => {
    const places = known.get(step.weights) ?? packedPlaces(options.shape, step.weights);
    known.set(step.weights, places);
    return decodeStages(options, places, step);
  };
}

/** Rows of a chunk of what is done row by row. */
const rowsPerChunk = 8;
/** The most tokens of a chunk of attention, whose cost grows with their position. */
const tokensPerChunk = 16;
/** The most chunks of a stage. */
export const maxChunks = 1024;
/** Chunks of a product for each thread: the fewer, the longer threads wait for the last one. */
const productChunksPerThread = 8;

/** A decode step from the states of its tokens to probabilities, in the order of its stages. */
function* decodeStages(
  options: StagesOptions,
  places: PackedPlaces,
  { written, sampled }: StepArguments,
): Generator<Stage> {
  const { kernels } = options;
  const { at } = kernels;
  const rows = (count: number, work: (count: number, first: number) => void, perChunk = rowsPerChunk) =>
    rowStage(count, options.threads === 1 ? count : Math.max(perChunk, Math.ceil(count / maxChunks)), work);
  const product = (packed: PackedProduct, from: number, to: number, count: number) =>
    productStage(options, packed, { from, to, rows: count });
  for (const [i, layer] of places.layers.entries()) {
    const attending = i === places.layers.length - 1 ? sampled : written;
    yield rows(written, (count, first) => kernels.norm(layer.inputNorm, count, first));
    yield product(layer.projected, at.normal, at.projected, written);
    yield rows(written, (count, first) => {
      kernels.rope(layer, count, first);
      kernels.attend(i, { count: 0, written: count, first });
    });
    if (attending === 0) return;
    const perChunk = Math.min(tokensPerChunk, Math.ceil(attending / (4 * options.threads)));
    yield rows(attending, (count, first) => kernels.attend(i, { count, written: 0, first }), perChunk);
    yield product(layer.output, at.attended, at.states, attending);
    yield rows(attending, (count, first) => kernels.norm(layer.middleNorm, count, first));
    yield product(layer.gateUp, at.normal, at.gateUp, attending);
    yield rows(attending, (count, first) => kernels.gate(count, first));
    yield product(layer.down, at.gated, at.states, attending);
  }
  yield rows(sampled, (count, first) => kernels.norm(places.norm, count, first));
  yield product(places.head, at.normal, at.logits, sampled);
  yield rows(sampled, (count, first) => kernels.softmax(count, first));
}

/** The most stages of a step. */
export function maxStages(layers: number): number {
  return 9 * layers + 3;
}

function rowStage(rows: number, perChunk: number, work: (count: number, first: number) => void): Stage {
  return {
    chunks: Math.ceil(rows / perChunk),
    run: (chunk) => work(Math.min(perChunk, rows - chunk * perChunk), chunk * perChunk),
  };
}

/** Each chunk is some columns for all rows, so that every weight is read by one thread. */
function productStage(
  { kernels, panelWidth, threads }: StagesOptions,
  packed: PackedProduct,
  { from, to, rows }: { from: number; to: number; rows: number },
): Stage {
  const panels = packed.product.columns / panelWidth;
  const chunks = threads === 1 ? 1 : Math.min(panels, maxChunks, threads * productChunksPerThread);
  const start = (chunk: number) => Math.floor((chunk * panels) / chunks);
  return {
    chunks,
    run(chunk) {
      const first = start(chunk);
      kernels.product(packed, panelWidth, from, to, rows, { first, count: start(chunk + 1) - first });
    },
  };
}
