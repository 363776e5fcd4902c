import { defined } from "../../defined.ts";
import type { ModelConfig } from "../model/model-config.ts";
import { gradientName, type TrainingGraphOptions, trainingGraph } from "./graphs.ts";
import { packingPays } from "./micro-batches.ts";
import type { Rotation } from "./rotation.ts";
import {
  causalMask,
  type Feeds,
  floats,
  fromIntegers,
  integers,
  openSession,
  type Session,
  takesSharedMemory,
} from "./session.ts";
import { slice, type WeightLayout } from "./weights.ts";

/** One row as a thread gets it: the tokens that are read, and the positions numbers are wanted at. */
export interface WorkRow {
  /** Up to the last wanted position. */
  tokens: Int32Array;
  /** Positions of predicted tokens, each at least 1. */
  wanted: Int32Array;
  /** `[wanted, K]`. */
  candidates?: Int32Array;
  derivatives?: RowDerivatives;
}

/** Aligned with `wanted`. */
export interface RowDerivatives {
  logprobs: Float32Array;
  entropies?: Float32Array;
  values?: Float32Array;
  /** `[wanted, K]`. */
  candidates?: Float32Array;
}

/** Aligned with `wanted`. */
export interface RowNumbers {
  logprobs: Float32Array;
  entropies: Float32Array;
  values?: Float32Array;
  candidates?: Float32Array;
  alternatives?: { tokens: Int32Array; logprobs: Float32Array };
}

/** Rows computed in one run. */
export interface WorkBatch {
  rows: readonly WorkRow[];
  /** Tokens of the prefix that all rows share and that is computed once; 0 where sharing is not worth it. */
  sharedPrefix: number;
}

export interface WorkOptions {
  temperature: number;
  /** How many candidates each position has, and how many alternatives are asked for. */
  candidates: number;
  alternatives: number;
}

export interface TrainingThreadOptions {
  config: ModelConfig;
  valueHead: boolean;
  layout: WeightLayout;
  rotation: Rotation;
  intraThreads: number;
  recompute: TrainingGraphOptions["recompute"] | "automatic";
}

/** Attention weights of all layers beyond this are computed again in the backward pass instead of being kept. */
const keptAttentionBytes = 2 ** 28;

/** Into how many blocks attention cuts rows up to a length: more blocks save work and add operators. Chosen by measurement. */
const blocksUpTo = [
  { length: 111, blocks: 1 },
  { length: 383, blocks: 2 },
  { length: 2047, blocks: 4 },
  { length: Number.POSITIVE_INFINITY, blocks: 8 },
];

/** Forward and backward passes of micro-batches on one thread. */
export class TrainingThread {
  readonly #options: TrainingThreadOptions;
  readonly #sessions = new Map<string, Promise<Session>>();
  /** A gradient that is added to another; made when first needed. */
  #spare: Float32Array | undefined;

  constructor(options: TrainingThreadOptions) {
    this.#options = options;
  }

  async forward(weights: Feeds, { rows, sharedPrefix }: WorkBatch, work: WorkOptions): Promise<RowNumbers[]> {
    const batch = this.#blocked(rows, sharedPrefix);
    const session = await this.#session(
      {
        gradient: false,
        entropies: true,
        values: true,
        candidates: work.candidates > 0,
        alternatives: work.alternatives > 0,
      },
      batch,
    );
    const feeds: Feeds = { ...weights, ...this.#rowFeeds(rows, batch, work) };
    if (work.alternatives > 0) feeds.alternatives = floats(new Float32Array(work.alternatives), [work.alternatives]);
    const outputs = await session.run(feeds);
    return splitRows(rows, outputs, work);
  }

  /** Adds the gradient of these rows to `gradient`, or writes it where `isFirst`. */
  async backward(
    weights: Feeds,
    { rows, sharedPrefix }: WorkBatch,
    work: WorkOptions,
    gradient: Float32Array,
    isFirst: boolean,
  ): Promise<void> {
    const batch = this.#blocked(rows, sharedPrefix);
    const has = (name: keyof RowDerivatives) => rows.some(({ derivatives }) => derivatives?.[name] !== undefined);
    const session = await this.#session(
      {
        gradient: true,
        entropies: has("entropies"),
        values: has("values"),
        candidates: has("candidates"),
        alternatives: false,
      },
      batch,
    );
    const feeds = {
      ...weights,
      ...this.#rowFeeds(rows, batch, { ...work, candidates: has("candidates") ? work.candidates : 0 }),
    };
    const joined = (name: keyof RowDerivatives, width: number) => {
      const parts = rows.map(
        ({ derivatives, wanted }) => derivatives?.[name] ?? new Float32Array(wanted.length * width),
      );
      const all = concatenate(parts);
      return floats(all, [all.length / width, width]);
    };
    feeds.logprobDerivatives = joined("logprobs", 1);
    if (has("entropies")) feeds.entropyDerivatives = joined("entropies", 1);
    if (has("values")) feeds.valueDerivatives = joined("values", 1);
    if (has("candidates")) feeds.candidateDerivatives = joined("candidates", work.candidates);
    await this.#runInto(session, feeds, gradient, isFirst);
  }

  /** ONNX Runtime writes gradients to where they are wanted, or, to be added, to memory that is kept: fresh memory would cost as much as copies. */
  async #runInto(session: Session, feeds: Feeds, gradient: Float32Array, isFirst: boolean): Promise<void> {
    const isDirect = isFirst && (gradient.buffer instanceof ArrayBuffer || (await takesSharedMemory()));
    if (!isDirect) this.#spare ??= new Float32Array(gradient.length);
    const written = isDirect ? gradient : this.#spare!;
    const computed = new Set(session.outputNames);
    const fetches: Feeds = {};
    for (const parameter of this.#options.layout.slices) {
      const name = gradientName(parameter.name);
      if (computed.has(name)) fetches[name] = floats(slice(written, parameter), parameter.shape);
      else if (isFirst) slice(gradient, parameter).fill(0);
    }
    await session.run(feeds, fetches);
    if (isDirect) return;
    for (const parameter of this.#options.layout.slices) {
      if (!computed.has(gradientName(parameter.name))) continue;
      const [target, part] = [slice(gradient, parameter), slice(written, parameter)];
      if (isFirst) target.set(part);
      else for (let i = 0; i < part.length; i++) target[i] = target[i] + part[i];
    }
  }

  #session(
    want: Omit<TrainingGraphOptions, "valueHead" | "recompute" | "blocks" | "sharedPrefix" | "packed">,
    batch: Blocked,
  ): Promise<Session> {
    const { config, valueHead, intraThreads } = this.#options;
    const kept = 4 * config.layers * batch.rows * config.heads * batch.length * (batch.length / 2 + batch.sharedPrefix);
    const automatic = want.gradient && kept > keptAttentionBytes ? "attention" : "nothing";
    const recompute = this.#options.recompute === "automatic" ? automatic : this.#options.recompute;
    const { blocks, packed } = batch;
    const options: TrainingGraphOptions = {
      ...want,
      valueHead,
      recompute,
      blocks,
      sharedPrefix: batch.sharedPrefix > 0,
      packed,
    };
    const key = JSON.stringify(options);
    let session = this.#sessions.get(key);
    if (session === undefined) {
      session = openSession(trainingGraph(config, options), intraThreads);
      this.#sessions.set(key, session);
    }
    return session;
  }

  /**
   * How many tokens are read, the last wanted one being only predicted, padded to whole blocks of attention. A row of the whole
   * context has fewer blocks where padding would not fit into the table of rotations.
   */
  #blocked(rows: readonly WorkRow[], sharedPrefix: number): Blocked {
    const { maxLength } = this.#options.rotation;
    const longest = Math.max(...rows.map((row) => row.wanted.at(-1)!)) - sharedPrefix;
    const padded = (blocks: number) => Math.ceil(longest / blocks) * blocks;
    let { blocks } = blocksUpTo.find(({ length }) => longest <= length)!;
    while (sharedPrefix + padded(blocks) > maxLength) blocks /= 2;
    const length = padded(blocks);
    const tokens = rows.reduce((sum, row) => sum + row.wanted.at(-1)! - sharedPrefix, 0);
    return { rows: rows.length, length, blocks, sharedPrefix, packed: packingPays(tokens, rows.length * length) };
  }

  #rowFeeds(rows: readonly WorkRow[], batch: Blocked, work: WorkOptions): Feeds {
    const { length, blocks, sharedPrefix: prefix } = batch;
    const { feeds: laidOut, starts } = layOutRows(rows, batch);
    const wanted: number[] = [];
    const chosen: number[] = [];
    rows.forEach((row, b) => {
      for (const t of row.wanted) {
        // the state before a token predicts it
        wanted.push(t <= prefix ? t - 1 : prefix + starts[b] + (t - 1 - prefix));
        chosen.push(row.tokens[t]);
      }
    });
    const feeds: Feeds = {
      ...laidOut,
      wanted: integers(wanted, [wanted.length]).tensor,
      chosen: integers(chosen, [chosen.length, 1]).tensor,
      inverseTemperature: floats(Float32Array.of(1 / work.temperature), [1, 1]),
      ...this.#options.rotation.feeds,
    };
    const size = length / blocks;
    for (let i = 0; i < blocks; i++) feeds[`mask.${i}`] = floats(causalMask(size, i * size), [size, (i + 1) * size]);
    if (prefix > 0) {
      feeds.sharedPrefix = integers(rows[0].tokens.subarray(0, prefix), [1, prefix]).tensor;
      feeds["mask.inPrefix"] = floats(causalMask(prefix), [prefix, prefix]);
      feeds["mask.toPrefix"] = floats(new Float32Array(size * prefix), [size, prefix]);
    }
    if (work.candidates > 0) {
      const all = rows.flatMap((row) => Array.from(row.candidates!));
      feeds.candidates = integers(all, [wanted.length, work.candidates]).tensor;
    }
    return feeds;
  }
}

/**
 * The tokens that are read, after the shared prefix, with their positions: padded rows, or one packed sequence with the indices from packed
 * to padded tokens and back. `starts` has the first token of each row.
 */
function layOutRows(
  rows: readonly WorkRow[],
  { length, sharedPrefix: prefix, packed }: Blocked,
): { feeds: Feeds; starts: number[] } {
  const lengths = rows.map((row) => (packed ? row.wanted.at(-1)! - prefix : length));
  let count = 0;
  const starts = lengths.map((size) => {
    count += size;
    return count - size;
  });
  const tokens = new Int32Array(count);
  const positions = Int32Array.from({ length: prefix + count }, (_, i) => i);
  rows.forEach((row, b) => {
    const [start, size] = [starts[b], lengths[b]];
    tokens.set(row.tokens.subarray(prefix, Math.min(row.tokens.length, prefix + size)), start);
    for (let t = 0; t < size; t++) positions[prefix + start + t] = prefix + t;
  });
  if (!packed) {
    const shape = prefix > 0 ? [positions.length, 1] : [rows.length, length];
    const feeds = {
      tokens: integers(tokens, [rows.length, length]).tensor,
      positions: integers(positions, shape).tensor,
    };
    return { feeds, starts };
  }
  const packedIndex = new Int32Array(rows.length * length).fill(count);
  const paddedIndex = new Int32Array(count);
  starts.forEach((start, b) => {
    for (let t = 0; t < lengths[b]; t++) {
      packedIndex[b * length + t] = start + t;
      paddedIndex[start + t] = b * length + t;
    }
  });
  const feeds = {
    tokens: integers(tokens, [1, count]).tensor,
    positions: integers(positions, [positions.length, 1]).tensor,
    packedIndex: integers(packedIndex, [rows.length, length]).tensor,
    paddedIndex: integers(paddedIndex, [count]).tensor,
  };
  return { feeds, starts };
}

interface Blocked {
  rows: number;
  /** Of each row, after the shared prefix. */
  length: number;
  blocks: number;
  sharedPrefix: number;
  packed: boolean;
}

function splitRows(rows: readonly WorkRow[], outputs: Feeds, work: WorkOptions): RowNumbers[] {
  let start = 0;
  const numbers = (name: string) => outputs[name]?.data as Float32Array | undefined;
  const alternativeTokens = work.alternatives > 0 ? fromIntegers(outputs.alternativeTokens) : undefined;
  return rows.map(({ wanted }) => {
    const end = start + wanted.length;
    const cut = (name: string, width = 1) => numbers(name)?.slice(start * width, end * width);
    const values = cut("values");
    const candidates = cut("candidateLogprobs", work.candidates);
    const row: RowNumbers = {
      logprobs: cut("logprobs")!,
      entropies: cut("entropies")!,
      ...defined({ values, candidates }),
    };
    if (alternativeTokens !== undefined) {
      row.alternatives = {
        tokens: alternativeTokens.slice(start * work.alternatives, end * work.alternatives),
        logprobs: cut("alternativeLogprobs", work.alternatives)!,
      };
    }
    start = end;
    return row;
  });
}

function concatenate(parts: readonly Float32Array[]): Float32Array {
  const all = new Float32Array(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) {
    all.set(part, at);
    at += part.length;
  }
  return all;
}
