import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Engine } from "../../engine/engine.ts";
import { fakeEngine } from "../../engine/fake-engine.ts";
import { byteTokenizer } from "../../policy/byte-tokenizer.ts";

const tokenizer = byteTokenizer();
const [one, two, end] = ["1".charCodeAt(0), "2".charCodeAt(0), tokenizer.specialTokens.eos!.id];

/** A policy that says 1, sometimes 2, and ends its turn. */
export const digitsEngine = (): Engine =>
  fakeEngine({ vocabularySize: tokenizer.vocabularySize, distribution: saysOne });

function saysOne(tokens: readonly number[]): number[] {
  const isSaid = [one, two].includes(tokens.at(-1)!);
  const shares = new Map(
    isSaid
      ? [
          [end, 0.9],
          [one, 0.1],
        ]
      : [
          [one, 0.7],
          [two, 0.2],
          [end, 0.1],
        ],
  );
  return Array.from({ length: tokenizer.vocabularySize }, (_, id) => shares.get(id) ?? 0);
}

/** A folder with the tokenizer that the policy speaks. */
export async function writeCheckpoint(directory: string): Promise<void> {
  await mkdir(directory, { recursive: true });
  for (const [name, text] of Object.entries(tokenizer.files())) await writeFile(join(directory, name), text);
}
