import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { byteTokenizer } from "../policy/byte-tokenizer.ts";
import { defaultChatTemplate } from "../policy/default-chat-template.ts";
import { tokenizerFromFiles } from "../policy/load-tokenizer.ts";
import { embedded } from "./embedded/embedded.ts";
import { models } from "./model/model-config.ts";

/** The files of a tiny model with a chat template, as a hub holds them. */
export async function modelFiles(): Promise<Record<string, Buffer>> {
  const folder = mkdtempSync(join(tmpdir(), "ludus-hub-model-"));
  try {
    const files = byteTokenizer().files();
    const tokenizer = tokenizerFromFiles({ ...files, "chat_template.jinja": defaultChatTemplate });
    const model = models.tiny({ vocabularySize: tokenizer.vocabularySize, contextLength: 128 });
    const engine = await embedded({ model, tokenizer, seed: 1 });
    await engine.save(join(folder, "model"));
    await engine.close();
    const names = readdirSync(join(folder, "model")).filter((name) => statSync(join(folder, "model", name)).isFile());
    return Object.fromEntries(names.map((name) => [name, readFileSync(join(folder, "model", name))]));
  } finally {
    rmSync(folder, { recursive: true });
  }
}
