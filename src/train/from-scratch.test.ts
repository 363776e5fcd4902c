import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { frozenLake } from "../env/environments/frozen-lake.ts";
import { fromScratch } from "./from-scratch.ts";

test("a folder of a model made from nothing says where a turn ends", async () => {
  const folder = await mkdtemp(join(tmpdir(), "ludus-scratch-"));
  for (const tokenizer of ["bytes", 300] as const) {
    const { engine, renderer } = await fromScratch({ size: "tiny", tokenizer, threads: 1 })(frozenLake(), 0);
    await engine.save(folder);
    await engine.close();
    const { eos_token_id: eos } = JSON.parse(await readFile(join(folder, "config.json"), "utf8"));
    expect([eos].flat()).toEqual(renderer.stopTokens);
  }
  await rm(folder, { recursive: true });
});

test.each([
  [{ size: "medium" }, '"tiny" or "small" or "base"'],
  [{ tokenizer: "byte" }, 'Did you mean "bytes"'],
  [{ renderer: "chats" }, 'Did you mean "chat"'],
])("%j is refused at once, with what there is", (options, expected) => {
  expect(() => fromScratch(options as never)).toThrow(expected);
});
