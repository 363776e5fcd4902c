import { z } from "zod";
import { LudusError } from "../../errors.ts";

/** Rotary position embedding. Defaults are filled in by `parseRope`, so nothing is inferred where it is used. */
export type RopeConfig = PlainRope | ScaledRope | YarnRope | Llama3Rope | LongRope;

export interface PlainRope {
  readonly type: "default";
  readonly theta: number;
}

export interface ScaledRope {
  readonly type: "linear" | "dynamic";
  readonly theta: number;
  readonly factor: number;
}

export interface YarnRope {
  readonly type: "yarn";
  readonly theta: number;
  readonly factor: number;
  readonly originalContextLength: number;
  readonly attentionFactor: number;
  readonly betaFast: number;
  readonly betaSlow: number;
  readonly truncate: boolean;
}

export interface Llama3Rope {
  readonly type: "llama3";
  readonly theta: number;
  readonly factor: number;
  readonly originalContextLength: number;
  readonly lowFrequencyFactor: number;
  readonly highFrequencyFactor: number;
}

export interface LongRope {
  readonly type: "longrope";
  readonly theta: number;
  readonly factor: number;
  readonly originalContextLength: number;
  readonly attentionFactor: number;
  readonly shortFactors: readonly number[];
  readonly longFactors: readonly number[];
}

/** The part of a model that rope depends on; a `ModelConfig` is one. */
export interface RopeShape {
  readonly headWidth: number;
  readonly contextLength: number;
  readonly rope: RopeConfig;
}

const ropeTypes = ["default", "linear", "dynamic", "yarn", "llama3", "longrope"] as const;
const positive = z.number().positive();

/** `rope_scaling` (transformers 4) or `rope_parameters` (5) of a config.json. */
export const HuggingFaceRope = z.looseObject({
  rope_type: z.string().nullish(),
  type: z.string().nullish(),
  rope_theta: positive.nullish(),
  partial_rotary_factor: z.number().nullish(),
  factor: positive.nullish(),
  original_max_position_embeddings: z.int().positive().nullish(),
  attention_factor: z.number().nonnegative().nullish(),
  beta_fast: z.number().nonnegative().nullish(),
  beta_slow: z.number().nonnegative().nullish(),
  mscale: z.number().nullish(),
  mscale_all_dim: z.number().nullish(),
  truncate: z.boolean().nullish(),
  low_freq_factor: positive.nullish(),
  high_freq_factor: positive.nullish(),
  short_factor: z.array(positive).nullish(),
  long_factor: z.array(positive).nullish(),
});
export type HuggingFaceRope = z.infer<typeof HuggingFaceRope>;

export interface RopeSource {
  raw: HuggingFaceRope;
  /** The field of config.json that `raw` came from, for messages. */
  field: string;
  theta: number;
  contextLength: number;
  originalContextLength: number;
}

export function parseRope({ raw, field, theta, contextLength, originalContextLength }: RopeSource): RopeConfig {
  const type = raw.rope_type ?? raw.type ?? "default";
  const need = (key: keyof HuggingFaceRope & string): never => {
    throw new LudusError("bad-model-config", { got: `no ${field}.${key}`, expected: `one, as its type is "${type}"` });
  };
  const nested = Object.keys(raw).find((key) => isRecord(raw[key]));
  if (nested !== undefined) {
    throw new LudusError("unsupported-model", {
      got: `${field}.${nested}, a rope of its own for some layers`,
      expected: "one rope for all layers",
      hint: "If all layers have the same, write it once in config.json.",
    });
  }
  switch (type) {
    case "default":
      return { type, theta };
    case "linear":
    case "dynamic":
      return { type, theta, factor: raw.factor ?? need("factor") };
    case "yarn": {
      const factor = raw.factor ?? contextLength / originalContextLength;
      const attentionFactor = raw.attention_factor ?? yarnAttentionFactor(factor, raw);
      const truncate = raw.truncate === undefined || raw.truncate === true;
      // As in transformers, a beta of 0 means the default.
      const [betaFast, betaSlow] = [raw.beta_fast || 32, raw.beta_slow || 1];
      return { type, theta, factor, originalContextLength, attentionFactor, betaFast, betaSlow, truncate };
    }
    case "llama3": {
      const lowFrequencyFactor = raw.low_freq_factor ?? need("low_freq_factor");
      const highFrequencyFactor = raw.high_freq_factor ?? need("high_freq_factor");
      const factor = raw.factor ?? need("factor");
      return { type, theta, factor, originalContextLength, lowFrequencyFactor, highFrequencyFactor };
    }
    case "longrope": {
      const shortFactors = raw.short_factor ?? need("short_factor");
      const longFactors = raw.long_factor ?? need("long_factor");
      const factor = raw.factor ?? contextLength / originalContextLength;
      const stretch = factor <= 1 ? 0 : Math.log(factor) / Math.log(originalContextLength);
      const attentionFactor = raw.attention_factor ?? Math.sqrt(1 + stretch);
      return { type, theta, factor, originalContextLength, attentionFactor, shortFactors, longFactors };
    }
    default:
      throw new LudusError("unsupported-model", {
        got: `${field}.rope_type = "${type}"`,
        expected: `one of ${ropeTypes.join(", ")}`,
        hint: "Choose a model with one of these, or give the one this model was trained with before it was extended.",
      });
  }
}

function isRecord(value: unknown): boolean {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function yarnAttentionFactor(factor: number, { mscale, mscale_all_dim: mscaleAll }: HuggingFaceRope): number {
  const magnitude = (scale: number) => (factor <= 1 ? 1 : 0.1 * scale * Math.log(factor) + 1);
  return mscale && mscaleAll ? magnitude(mscale) / magnitude(mscaleAll) : magnitude(1);
}

/** What `rope_scaling` of a config.json says, theta apart. */
export function ropeToHuggingFace(rope: RopeConfig): HuggingFaceRope {
  switch (rope.type) {
    case "default":
      return { rope_type: rope.type };
    case "linear":
    case "dynamic":
      return { rope_type: rope.type, factor: rope.factor };
    case "yarn":
      return {
        ...stretchToHuggingFace(rope),
        attention_factor: rope.attentionFactor,
        beta_fast: rope.betaFast,
        beta_slow: rope.betaSlow,
        truncate: rope.truncate,
      };
    case "llama3":
      return {
        ...stretchToHuggingFace(rope),
        low_freq_factor: rope.lowFrequencyFactor,
        high_freq_factor: rope.highFrequencyFactor,
      };
    case "longrope":
      return {
        ...stretchToHuggingFace(rope),
        attention_factor: rope.attentionFactor,
        short_factor: [...rope.shortFactors],
        long_factor: [...rope.longFactors],
      };
  }
}

function stretchToHuggingFace(rope: YarnRope | Llama3Rope | LongRope): HuggingFaceRope {
  return { rope_type: rope.type, factor: rope.factor, original_max_position_embeddings: rope.originalContextLength };
}

/**
 * Throws where the frequencies of a token's position depend on how long its sequence becomes: what was sampled before the change
 * would have another log-probability in training.
 */
export function checkRopeLength({ rope, contextLength }: Pick<RopeShape, "rope" | "contextLength">): void {
  if (rope.type !== "longrope" || contextLength <= rope.originalContextLength) return;
  const { originalContextLength, attentionFactor } = rope;
  throw new LudusError("unsupported-model", {
    got: `rope_type "longrope" with max_position_embeddings ${contextLength} beyond original_max_position_embeddings ${originalContextLength}`,
    expected: "one set of frequencies for all lengths; longrope changes them beyond the original context",
    hint: `For sequences up to ${originalContextLength}, set max_position_embeddings to ${originalContextLength} and rope_scaling.attention_factor to ${attentionFactor} in config.json.`,
  });
}

/** Throws where the rope cannot be computed for heads of this width. */
export function checkRope({ rope, headWidth }: RopeShape): void {
  const refuse = (got: string, expected: string): never => {
    throw new LudusError("bad-model-config", { got, expected });
  };
  if (!(rope.theta > 0)) refuse(`rope theta ${rope.theta}`, "a number above 0");
  if (rope.type !== "default" && !(rope.factor > 0)) refuse(`rope factor ${rope.factor}`, "a number above 0");
  if (rope.type === "dynamic" && headWidth <= 2) refuse(`headWidth ${headWidth}`, "more than 2 for dynamic rope");
  if (rope.type === "llama3" && !(rope.highFrequencyFactor > rope.lowFrequencyFactor)) {
    const range = `${rope.lowFrequencyFactor} to ${rope.highFrequencyFactor}`;
    refuse(`rope frequency factors from ${range}`, "the high one above the low one");
  }
  if (rope.type === "longrope") {
    for (const { length } of [rope.shortFactors, rope.longFactors]) {
      if (length !== headWidth / 2) refuse(`${length} longrope factors`, `${headWidth / 2}, half of headWidth`);
    }
  }
}

// Every step is rounded to float32, as transformers computes it: at position 10,000 the last bit of a frequency is worth 1e-3
// of an angle, so more exact numbers would not be the numbers the model was trained with.
const f32 = Math.fround;

/**
 * One angle per position for each pair of a head's numbers, `[headWidth / 2]`.
 *
 * Of the six types, dynamic and longrope depend on the length of the running sequence: dynamic changes with every token past
 * `contextLength`, longrope once, past its original context length. Keys cached before such a change were rotated with other
 * frequencies, so engines never go past it: they refuse longrope beyond its original context, and no sequence is longer than `contextLength`.
 */
export function inverseFrequencies({ rope, headWidth, contextLength }: RopeShape, length: number): Float32Array {
  switch (rope.type) {
    case "default":
      return plainFrequencies(rope.theta, headWidth);
    case "linear":
      return plainFrequencies(rope.theta, headWidth).map((frequency) => frequency / rope.factor);
    case "dynamic":
      return plainFrequencies(dynamicTheta(rope, headWidth, contextLength, length), headWidth);
    case "yarn":
      return yarnFrequencies(rope, headWidth);
    case "llama3":
      return plainFrequencies(rope.theta, headWidth).map((frequency) => llama3Frequency(frequency, rope));
    case "longrope": {
      const factors = length > rope.originalContextLength ? rope.longFactors : rope.shortFactors;
      return powers(rope.theta, headWidth).map((power, i) => 1 / f32(f32(factors[i]) * power));
    }
  }
}

function powers(theta: number, headWidth: number): Float32Array {
  return Float32Array.from({ length: headWidth / 2 }, (_, i) => f32(theta) ** f32((2 * i) / headWidth));
}

function plainFrequencies(theta: number, headWidth: number): Float32Array {
  return powers(theta, headWidth).map((power) => 1 / power);
}

function dynamicTheta(rope: ScaledRope, headWidth: number, contextLength: number, length: number): number {
  if (length <= contextLength) return rope.theta;
  const stretch = f32(f32(f32(rope.factor * length) / contextLength) - (rope.factor - 1));
  return f32(rope.theta * f32(stretch ** (headWidth / (headWidth - 2))));
}

function yarnFrequencies(rope: YarnRope, headWidth: number): Float32Array {
  // The index of the pair that turns this often within the original context.
  const pairOf = (turns: number) =>
    (headWidth * Math.log(rope.originalContextLength / (turns * 2 * Math.PI))) / (2 * Math.log(rope.theta));
  const [first, last] = [pairOf(rope.betaFast), pairOf(rope.betaSlow)];
  const low = Math.max(rope.truncate ? Math.floor(first) : first, 0);
  const end = Math.min(rope.truncate ? Math.ceil(last) : last, headWidth - 1);
  const high = end === low ? end + 0.001 : end;
  return powers(rope.theta, headWidth).map((power, i) => {
    const ramp = f32(Math.min(1, Math.max(0, f32(f32(i - low) / f32(high - low)))));
    const kept = f32(1 - ramp);
    const interpolated = f32(f32(1 / f32(rope.factor * power)) * f32(1 - kept));
    return interpolated + f32(f32(1 / power) * kept);
  });
}

function llama3Frequency(frequency: number, rope: Llama3Rope): number {
  const { factor, lowFrequencyFactor: low, highFrequencyFactor: high, originalContextLength: context } = rope;
  const wavelength = f32(f32(1 / frequency) * f32(2 * Math.PI));
  if (wavelength < context / high) return frequency;
  if (wavelength > context / low) return f32(frequency / factor);
  const smooth = f32(f32(f32(f32(1 / wavelength) * context) - low) / (high - low));
  return f32(f32(f32(1 - smooth) * frequency) / factor) + f32(smooth * frequency);
}

/**
 * Cosines and sines for positions 0 to `length - 1`, each `[length, headWidth / 2]`, the attention factor multiplied in.
 * A model that pairs number `i` of a head with number `i + headWidth / 2` uses entry `i` for both.
 */
export function ropeTables(shape: RopeShape, length: number): { cos: Float32Array; sin: Float32Array } {
  const frequencies = inverseFrequencies(shape, length);
  const scale = "attentionFactor" in shape.rope ? f32(shape.rope.attentionFactor) : 1;
  const pairs = frequencies.length;
  const cos = new Float32Array(length * pairs);
  const sin = new Float32Array(length * pairs);
  for (let position = 0; position < length; position++) {
    for (let pair = 0; pair < pairs; pair++) {
      const angle = f32(position * frequencies[pair]);
      cos[position * pairs + pair] = f32(Math.cos(angle)) * scale;
      sin[position * pairs + pair] = f32(Math.sin(angle)) * scale;
    }
  }
  return { cos, sin };
}
