import { join } from "node:path";
import { embedded } from "../../src/engine/embedded/embedded.ts";
import { small } from "../../src/engine/model/model-config.ts";
import { byteTokenizer } from "../../src/policy/byte-tokenizer.ts";

/** Saves the 0.84M-parameter model and its tokenizer, for all sides to load. Returns the folder and what is in it. */
export async function makeModel(parent: string) {
  const tokenizer = byteTokenizer({ markup: [] });
  const { eos, pad } = tokenizer.specialTokens;
  const tokens = { bos: null, eos: [eos!.id], pad: pad!.id };
  const { vocabularySize } = tokenizer;
  // all of its shape is said here, so that a change of the presets cannot change what is compared
  const shape = { width: 128, layers: 4, heads: 4, keyValueHeads: 4, headWidth: 32, feedForwardWidth: 352 };
  const config = small({ family: "qwen2", vocabularySize, ...shape, tokens });
  const engine = await embedded({ model: config, tokenizer, seed: 1 });
  const folder = join(parent, "model");
  try {
    await engine.save(folder);
    return { folder, parameters: engine.info.parameters, vocabularySize };
  } finally {
    await engine.close();
  }
}
