import type { MessageInitShape } from "@bufbuild/protobuf";
import { defined } from "../../defined.ts";
import {
  type Alternatives,
  type Derivatives,
  type Forward,
  type ForwardOptions,
  type OptimizerOptions,
  policyWeights,
  type Sample,
  type SampleRequest,
  type SampleStop,
  type TokenBatch,
} from "../engine.ts";
import type {
  BackwardRequestSchema,
  ForwardReply,
  ForwardRequestSchema,
  SampleBatchReply,
  SampleOptionsSchema,
  SampleReply,
  StepRequestSchema,
} from "./engine_pb.ts";

// Between the contract's objects and the messages of engine.proto. Arrays are little-endian, as every machine Node runs on is.

export function bytesOf(array: Int32Array | Float32Array | Float64Array): Uint8Array {
  return new Uint8Array(array.buffer, array.byteOffset, array.byteLength);
}

// copied: the bytes of a message may lie at any address
export const integersOf = (bytes: Uint8Array): Int32Array => new Int32Array(bytes.slice().buffer);
export const floatsOf = (bytes: Uint8Array): Float32Array => new Float32Array(bytes.slice().buffer);

/** What requests of one group have in common. */
export function sampleOptions(request: SampleRequest): MessageInitShape<typeof SampleOptionsSchema> {
  const { topP, topK } = request;
  return {
    temperature: request.temperature ?? 1,
    ...defined({ topP, topK }),
    stopTokens: [...(request.stopTokens ?? [])],
    stopStrings: [...(request.stopStrings ?? [])],
    weights: request.weights ?? policyWeights,
    alternatives: request.alternatives ?? 0,
  };
}

/** Requests with equal keys have equal options. */
export function optionsKey({ temperature, topP, topK, stopTokens, stopStrings, weights, alternatives }: SampleRequest) {
  const strings = stopStrings === undefined || stopStrings.length === 0 ? "" : JSON.stringify(stopStrings);
  return `${temperature} ${topP} ${topK} ${stopTokens} ${alternatives} ${weights} ${strings}`;
}

/** One array after the other. */
export function concatenated(rows: readonly ArrayLike<number>[]): Int32Array {
  const all = new Int32Array(rows.reduce((sum, row) => sum + row.length, 0));
  let at = 0;
  for (const row of rows) {
    all.set(row, at);
    at += row.length;
  }
  return all;
}

const stops: readonly SampleStop[] = ["stop-token", "stop-string", "max-tokens", "context-full"];

/** The samples of a message, with their numbers, but for `others`. */
export function* samplesOf(reply: SampleBatchReply): Generator<[number, Sample]> {
  const [numbers, lengths] = [integersOf(reply.numbers), integersOf(reply.lengths)];
  const [tokens, versions, logprobs] = [integersOf(reply.tokens), integersOf(reply.versions), floatsOf(reply.logprobs)];
  let at = 0;
  for (let i = 0; i < numbers.length; i++) {
    const end = at + lengths[i];
    const stop = stops[reply.stops[i]];
    yield [
      numbers[i],
      { tokens: tokens.slice(at, end), logprobs: logprobs.slice(at, end), versions: versions.slice(at, end), stop },
    ];
    at = end;
  }
}

export function toSample(reply: SampleReply, { topP = 1, topK, alternatives: count }: SampleRequest): Sample {
  return {
    tokens: integersOf(reply.tokens),
    logprobs: floatsOf(reply.logprobs),
    versions: integersOf(reply.versions),
    stop: reply.stop as SampleStop,
    ...defined({
      cutLogprobs: topP < 1 || topK !== undefined ? floatsOf(reply.cutLogprobs) : undefined,
      alternatives:
        count === undefined
          ? undefined
          : {
              count,
              tokens: integersOf(reply.alternativeTokens),
              logprobs: floatsOf(reply.alternativeLogprobs),
            },
    }),
  };
}

export function forwardMessage(
  id: number,
  { rows }: TokenBatch,
  { weights = policyWeights, temperature = 1, alternatives = 0, sampled }: ForwardOptions,
): MessageInitShape<typeof ForwardRequestSchema> {
  const total = rows.reduce((sum, row) => sum + row.tokens.length, 0);
  const count = rows[0].candidates?.count ?? 0;
  const tokens = new Int32Array(total);
  const mask = new Uint8Array(total).fill(1);
  const candidates = new Int32Array(total * count);
  let at = 0;
  for (const row of rows) {
    tokens.set(row.tokens, at);
    if (row.mask !== undefined) {
      for (let t = 0; t < row.mask.length; t++) mask[at + t] = row.mask[t] ? 1 : 0;
    }
    if (row.candidates !== undefined) candidates.set(row.candidates.tokens, at * count);
    at += row.tokens.length;
  }
  return {
    id: BigInt(id),
    lengths: bytesOf(Int32Array.from(rows, (row) => row.tokens.length)),
    tokens: bytesOf(tokens),
    mask,
    candidateCount: count,
    candidates: bytesOf(candidates),
    weights,
    temperature,
    alternatives,
    deferred: sampled !== undefined,
  };
}

/** Cuts what lies flat, `width` numbers to a token, into rows. */
function rowsOf<Array extends Int32Array | Float32Array>({ rows }: TokenBatch, flat: Array, width = 1): Array[] {
  let at = 0;
  return rows.map(({ tokens }) => {
    const start = at;
    at += tokens.length * width;
    return flat.slice(start, at) as Array;
  });
}

export function toForward(
  reply: ForwardReply,
  batch: TokenBatch,
  options: ForwardOptions,
): Omit<Forward, "id" | "policyVersion"> {
  const floats = (bytes: Uint8Array, width = 1) => rowsOf(batch, floatsOf(bytes), width);
  const candidates = batch.rows[0].candidates?.count;
  const count = options.alternatives;
  return {
    logprobs_B_T: options.sampled?.logprobs_B_T ?? floats(reply.logprobs),
    entropies_B_T: floats(reply.entropies),
    ...defined({
      values_B_T: reply.values.length === 0 ? undefined : floats(reply.values),
      candidates_B_T: candidates === undefined ? undefined : floats(reply.candidates, candidates),
      alternatives_B_T: count === undefined ? undefined : alternativesOf(reply, batch, count),
    }),
  };
}

function alternativesOf(reply: ForwardReply, batch: TokenBatch, count: number): Alternatives[] {
  const tokens = rowsOf(batch, integersOf(reply.alternativeTokens), count);
  const logprobs = rowsOf(batch, floatsOf(reply.alternativeLogprobs), count);
  return tokens.map((row, b) => ({ count, tokens: row, logprobs: logprobs[b] }));
}

export function backwardMessage(id: number, derivatives: Derivatives): MessageInitShape<typeof BackwardRequestSchema> {
  const flat = (rows: readonly Float32Array[] | undefined) => {
    const all = new Float32Array((rows ?? []).reduce((sum, row) => sum + row.length, 0));
    let at = 0;
    for (const row of rows ?? []) {
      all.set(row, at);
      at += row.length;
    }
    return bytesOf(all);
  };
  return {
    id: BigInt(id),
    logprobs: flat(derivatives.logprobs_B_T),
    entropies: flat(derivatives.entropies_B_T),
    values: flat(derivatives.values_B_T),
    candidates: flat(derivatives.candidates_B_T),
  };
}

export function stepMessage(options: OptimizerOptions): MessageInitShape<typeof StepRequestSchema> {
  const { maxGradientNorm } = options;
  return {
    weights: options.weights ?? policyWeights,
    learningRate: options.learningRate,
    weightDecay: options.weightDecay ?? 0,
    beta1: options.beta1 ?? 0.9,
    beta2: options.beta2 ?? 0.999,
    epsilon: options.epsilon ?? 1e-8,
    ...defined({ maxGradientNorm }),
  };
}
