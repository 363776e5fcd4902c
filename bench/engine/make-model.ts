import { join } from "node:path";
import { embedded } from "../../src/engine/embedded/embedded.ts";
import { type ModelConfig, small } from "../../src/engine/model/model-config.ts";
import { byteTokenizer } from "../../src/policy/byte-tokenizer.ts";
import type { Tokenizer } from "../../src/policy/tokenizer.ts";

/** Saves the 0.84M-parameter model and its tokenizer, for all sides to load. Returns the folder and what is in it. */
export async function makeModel(parent: string) {
  const tokenizer = byteTokenizer({ markup: [] });
  const { vocabularySize } = tokenizer;
  const engine = await embedded({ model: benchModelConfig(tokenizer), tokenizer, seed: 1 });
  const folder = join(parent, "model");
  try {
    await engine.save(folder);
    return { folder, parameters: engine.info.parameters, vocabularySize };
  } finally {
    await engine.close();
  }
}

/** All of its shape is said here, so that a change of the presets cannot change what is compared. */
export function benchModelConfig({ specialTokens: { eos, pad }, vocabularySize }: Tokenizer): ModelConfig {
  const tokens = { bos: null, eos: [eos!.id], pad: pad!.id };
  const shape = { width: 128, layers: 4, heads: 4, keyValueHeads: 4, headWidth: 32, feedForwardWidth: 352 };
  return small({ family: "qwen2", vocabularySize, ...shape, tokens });
}
