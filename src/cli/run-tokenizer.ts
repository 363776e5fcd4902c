import { existsSync } from "node:fs";
import { join } from "node:path";
import type { Checkpoints } from "../checkpoint/checkpoints.ts";
import { loadTokenizer } from "../policy/load-tokenizer.ts";
import type { Tokenizer } from "../policy/tokenizer.ts";

/** That of a run's newest checkpoint that has one. */
export async function runTokenizer(checkpoints: Checkpoints): Promise<Tokenizer | undefined> {
  const folders = checkpoints.steps().map((step) => checkpoints.directory(step));
  const folder = folders.findLast((each) => existsSync(join(each, "tokenizer.json")));
  return folder === undefined ? undefined : loadTokenizer(folder);
}
