import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { tokenizerMetadata } from "../src/engine/model/gguf/gguf-tokenizer.ts";
import { shippedEnvs } from "../src/env/environments/index.ts";
import { fromScratch } from "../src/train/from-scratch.ts";

// Which worlds can be trained with the defaults of `fromScratch()` and exported as GGUF? Those that cannot are listed in docs/how-to/exports.md.

const enough = Symbol("the model is not needed");

// Episodes of these run programs, open databases or search for their plan: a few say as much of what stands in their texts as the usual 64.
const plays: Readonly<Record<string, number>> = {
  "data-analyst": 12,
  household: 12,
  "office-trials": 12,
  repositories: 3,
};

/** The error of an export, or undefined. */
async function refusal(name: string, words: "plain" | "qwen2"): Promise<string | undefined> {
  let error: string | undefined;
  const policy = fromScratch({
    words,
    engine: async ({ tokenizer, model }) => {
      try {
        tokenizerMetadata(tokenizer, model);
      } catch (refused) {
        error = String(refused);
      }
      throw enough;
    },
  });
  const env = shippedEnvs[name]!.make();
  const sampleTexts = (count: number, seed: number) => env.sampleTexts(Math.min(count, plays[name] ?? count), seed);
  await expect(policy({ ...env, sampleTexts }, 0)).rejects.toBe(enough);
  return error;
}

const refused: string[] = [];

test.each(Object.keys(shippedEnvs))(
  "%s: its default tokenizer is exported, or the error says how to train one that is",
  async (name) => {
    const error = await refusal(name, "plain");
    if (error === undefined) return;
    refused.push(name);
    expect(error).toMatch(/tokenizer-not-in-gguf.*fromScratch\(\{ words: "qwen2" \}\)/s);
    expect(await refusal(name, "qwen2")).toBeUndefined();
  },
);

test("docs/how-to/exports.md lists those that are refused", () => {
  const page = readFileSync("docs/how-to/exports.md", "utf8");
  const [, listed = ""] = /^\| the shipped worlds (.*?) with the defaults/m.exec(page) ?? [];
  expect([...listed.matchAll(/`([\w-]+)`/g)].map(([, name]) => name)).toEqual(refused);
});
