import { cpSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { byteTokenizer } from "../../policy/byte-tokenizer.ts";
import { loadTokenizer } from "../../policy/load-tokenizer.ts";
import { tiny } from "../model/model-config.ts";
import { embedded } from "./embedded.ts";

const folder = mkdtempSync(join(tmpdir(), "ludus-folder-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
const tokenizer = byteTokenizer();
const model = tiny({ vocabularySize: tokenizer.vocabularySize, width: 32, headWidth: 8, layers: 1, contextLength: 64 });

test("a saved folder holds model, tokenizer and state, and opens as an engine", async () => {
  const path = join(folder, "whole");
  const engine = await embedded({ model, tokenizer, valueHead: true, threads: 1, seed: 4 });
  await engine.save(path);
  expect(readdirSync(path).sort()).toEqual([
    "chat_template.jinja",
    "config.json",
    "generation_config.json",
    "model.safetensors",
    "tokenizer.json",
    "tokenizer_config.json",
    "training",
  ]);
  const again = await embedded({ folder: path, threads: 1 });
  expect(again.info.hasValues).toBe(true);
  const rows = [{ tokens: [1, 2, 3, 4] }];
  expect((await again.forward({ rows })).logprobs_B_T).toEqual((await engine.forward({ rows })).logprobs_B_T);
  expect((await loadTokenizer(path)).encode("Ω<|im_end|>")).toEqual(tokenizer.encode("Ω<|im_end|>"));
  await Promise.all([engine.close(), again.close()]);
});

test("a folder of another model, without a model, or damaged is named", async () => {
  const engine = await embedded({ model: { ...model, layers: 2 }, threads: 1 });
  await expect(engine.load(join(folder, "whole"))).rejects.toMatchObject({
    code: "other-model",
    message: expect.stringContaining("layers"),
  });
  await expect(engine.load(join(folder, "nowhere"))).rejects.toMatchObject({ code: "checkpoint-not-found" });
  await expect(embedded({})).rejects.toMatchObject({ code: "no-model" });
  const damaged = join(folder, "damaged");
  cpSync(join(folder, "whole"), damaged, { recursive: true });
  writeFileSync(join(damaged, "config.json"), "{");
  await expect(embedded({ folder: damaged })).rejects.toMatchObject({ code: "bad-model-folder" });
  expect((await engine.sample({ tokens: [1], maxTokens: 2, seed: 0 })).tokens.length).toBe(2);
  await engine.close();
});
