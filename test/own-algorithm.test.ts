import { readFileSync } from "node:fs";
import { stripTypeScriptTypes } from "node:module";
import { describe } from "vitest";
import { creditContract } from "../src/credit/credit.contract.ts";
import type { Credit } from "../src/credit/credit.ts";
import * as credit from "../src/credit/index.ts";
import { lossContract } from "../src/loss/loss.contract.ts";
import type { Loss } from "../src/loss/loss.ts";

// The credit and the loss that users are shown keep the contracts that they are told of.

/** What stands between the imports and the training. */
function written(file: string): { byRank: Credit; softBound: Loss } {
  const code = /^(?:export )?const byRank[\s\S]*?const softBound[\s\S]*?^};$/m.exec(readFileSync(file, "utf8"))?.[0];
  if (code === undefined) throw new Error(`${file} has no byRank and softBound`);
  const run = new Function(
    ...Object.keys(credit),
    `${stripTypeScriptTypes(code.replaceAll("export ", ""))}; return { byRank, softBound };`,
  );
  return run(...Object.values(credit));
}

describe.each(["docs/how-to/own-algorithm.md", "examples/own-algorithm/main.ts"])("the algorithm of %s", (file) => {
  const { byRank, softBound } = written(file);
  creditContract(() => byRank);
  lossContract("its loss", () => softBound);
});
