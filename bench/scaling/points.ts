import { countParameters, type ModelConfig, small, tiny } from "../../src/engine/model/model-config.ts";
import { formatNumber } from "../table.ts";

/** One model at one length. */
export interface Point {
  series: "size" | "length";
  config: ModelConfig;
  parameters: number;
  /** Tokens of a training row; sampling has a prompt of half of it and makes the other half. */
  length: number;
  trainRows: number;
  sampleRows: number;
}

const sizeLength = 256;
/** Rows are one token longer than what is computed. */
const contextLength = 2 * 2048;
const family = "qwen2";

/** Large models get small batches, so that every point takes seconds. */
const sizes: readonly { config: ModelConfig; trainRows: number; sampleRows: number }[] = [
  { config: tiny({ family, vocabularySize: 259, contextLength }), trainRows: 16, sampleRows: 32 },
  { config: small({ family, vocabularySize: 259, contextLength }), trainRows: 16, sampleRows: 32 },
  { config: shape(259, 192, 7, 32), trainRows: 16, sampleRows: 32 },
  { config: shape(4096, 320, 7, 64), trainRows: 8, sampleRows: 32 },
  { config: shape(4096, 512, 9, 64), trainRows: 4, sampleRows: 16 },
  { config: shape(4096, 768, 14, 64), trainRows: 2, sampleRows: 8 },
];

const lengths = [64, 128, 256, 512, 1024, 2048];
/** As many tokens in every batch, however they are cut into rows. */
const batchTokens = 4096;

function shape(vocabularySize: number, width: number, layers: number, headWidth: number): ModelConfig {
  return small({ family, vocabularySize, width, layers, headWidth, contextLength });
}

export const points: readonly Point[] = [
  ...sizes.map((size) => point("size", sizeLength, size)),
  ...lengths.map((length) =>
    point("length", length, { config: sizes[1].config, trainRows: batchTokens / length, sampleRows: 32 }),
  ),
];

/** What a point is called on the command line: "102M", "length-2048". */
export function pointName({ series, parameters, length }: Point): string {
  return series === "size" ? `${formatNumber(parameters / 1e6)}M` : `length-${length}`;
}

function point(series: Point["series"], length: number, size: (typeof sizes)[number]): Point {
  return { series, length, parameters: countParameters(size.config), ...size };
}
