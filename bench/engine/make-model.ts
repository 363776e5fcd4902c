import { join } from "node:path";
import { embedded } from "../../src/engine/embedded/embedded.ts";
import { small } from "../../src/engine/embedded/model-config.ts";
import { byteTokenizer } from "../../src/policy/byte-tokenizer.ts";

/** Saves the 0.84M-parameter model and its tokenizer, for all sides to load. Returns the folder and what is in it. */
export async function makeModel(parent: string) {
  const tokenizer = byteTokenizer({ markup: [] });
  const { eos, pad } = tokenizer.specialTokens;
  const tokens = { bos: null, eos: [eos!.id], pad: pad!.id };
  const config = small({ vocabularySize: tokenizer.vocabularySize, tokens });
  const engine = await embedded({ model: config, tokenizer, seed: 1 });
  const folder = join(parent, "model");
  try {
    await engine.save(folder);
    return { folder, parameters: engine.info.parameters, vocabularySize: config.vocabularySize };
  } finally {
    await engine.close();
  }
}
