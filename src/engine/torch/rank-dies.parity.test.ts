import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import { randomBatch } from "../contract/context.ts";
import type { Engine } from "../engine.ts";
import { tiny } from "../model/model-config.ts";
import { rankPid } from "./fixtures/rank-pid.ts";
import { torch } from "./torch.ts";

const model = tiny({ vocabularySize: 40, width: 24, heads: 3, headWidth: 8, layers: 2, contextLength: 64 });

describe.runIf(process.env.LUDUS_PYTHON && process.platform === "linux")("a rank that dies", () => {
  const folder = mkdtempSync(join(tmpdir(), "ludus-rank-"));
  afterAll(() => rmSync(folder, { recursive: true, force: true }));
  const open = () => torch({ model, seed: 5, threads: 1, device: "cpu", processes: 2, log: () => {} });
  const batch = randomBatch(7, [6, 31, 4, 20]);
  const learn = async (engine: Engine) => {
    const forward = await engine.forward(batch);
    await engine.backward(forward, { logprobs_B_T: forward.logprobs_B_T.map((row) => row.map(() => -0.1)) });
    return engine.step({ learningRate: 1e-3 });
  };

  test("is named in the error of every call that waits, and a new engine goes on from the last checkpoint", async () => {
    const engine = await open();
    await learn(engine);
    await engine.save(join(folder, "one"));
    await learn(engine);
    const before = (await engine.forward(batch)).logprobs_B_T;
    process.kill(rankPid(1), "SIGKILL");
    const calls = await Promise.allSettled([learn(engine), engine.sample({ tokens: [1], maxTokens: 40, seed: 1 })]);
    for (const call of calls) {
      expect(call).toMatchObject({ status: "rejected", reason: { code: "worker-died" } });
      expect(String((call as PromiseRejectedResult).reason)).toContain("rank 1 of 2 was ended by SIGKILL");
    }
    await expect(engine.forward(batch)).rejects.toMatchObject({ code: "worker-died" });
    await engine.close();
    const again = await open();
    await again.load(join(folder, "one"));
    expect(again.info.policyVersion).toBe(1);
    await learn(again);
    const after = (await again.forward(batch)).logprobs_B_T;
    after.forEach((row, b) => row.forEach((value, t) => expect(value).toBeCloseTo(before[b][t], 5)));
    await again.close();
  });
});
