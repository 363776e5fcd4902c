import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { byteTokenizer } from "../../policy/byte-tokenizer.ts";
import { embedded } from "../embedded/embedded.ts";
import { engineContract } from "../engine.contract.ts";
import { tiny } from "../model/model-config.ts";
import { type RunningServer, startSkyrlTx } from "./fixtures/skyrl-tx.ts";
import { tinker } from "./tinker.ts";

// PYTHON=python3.12 scripts/setup-tinker.sh <folder>; LUDUS_TINKER_PYTHON=<folder>/bin/python npm run test:slow -- tinker
const python = process.env.LUDUS_TINKER_PYTHON ?? "";
const tokenizer = byteTokenizer();
const model = tiny({
  vocabularySize: tokenizer.vocabularySize,
  family: "qwen3",
  width: 64,
  layers: 2,
  contextLength: 64,
  initializerRange: 0.15,
});

describe.skipIf(python === "")("SkyRL tx", () => {
  const folder = mkdtempSync(join(tmpdir(), "ludus-skyrl-"));
  const base = join(folder, "base");
  let server: RunningServer | undefined;
  beforeAll(async () => {
    const engine = await embedded({ model, tokenizer, seed: 3 });
    await engine.save(base, { only: "weights" });
    await engine.close();
    server = await startSkyrlTx(python, base, folder);
  });
  afterAll(async () => {
    await server?.stop();
    rmSync(folder, { recursive: true, force: true });
  });
  const make = () => tinker({ url: server!.url, folder: base, tokenizer, rank: 8, seed: 1 });

  test("has the log-probabilities of the embedded engine on the same base", async () => {
    const [remote, local] = [await make(), await embedded({ folder: base, tokenizer })];
    expect(remote.info.lacks).toContain("fresh-optimizer");
    const rows = ["the quick brown fox", "0123"].map((text) => ({ tokens: tokenizer.encode(text) }));
    const [there, here] = [await remote.forward({ rows }), await local.forward({ rows })];
    there.logprobs_B_T.forEach((logprobs_T, b) => {
      logprobs_T.forEach((logprob, t) => expect(logprob).toBeCloseTo(here.logprobs_B_T[b][t], 4));
    });
    await Promise.all([remote.close(), local.close()]);
  });

  engineContract("the Tinker engine on SkyRL tx", { make, learns: true, rounding: "by-batch" });
});
