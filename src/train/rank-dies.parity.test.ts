import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import { rankPid } from "../engine/torch/fixtures/rank-pid.ts";
import { torch } from "../engine/torch/torch.ts";
import type { RunEvent } from "../schema/run-event.ts";
import { letters } from "./fixtures/letters.ts";
import { fromScratch } from "./from-scratch.ts";
import { grpo } from "./presets/grpo.ts";
import { train } from "./train-sync.ts";

describe.runIf(process.env.LUDUS_PYTHON && process.platform === "linux")("a run whose rank dies", () => {
  const folder = mkdtempSync(join(tmpdir(), "ludus-rank-run-"));
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  test("ends with an error that names the rank, and goes on from its last checkpoint when it is started again", async () => {
    const seen: number[] = [];
    const config = (isDeadly: boolean) => ({
      env: letters({ turns: 1 }),
      policy: fromScratch({
        size: "tiny" as const,
        tokenizer: "bytes" as const,
        engine: (start) => torch({ ...start, device: "cpu", threads: 1, processes: 2, log: () => {} }),
      }),
      algorithm: grpo({ groupSize: 4 }),
      steps: 5,
      tasksPerStep: 2,
      eval: { tasks: 0 },
      save: { every: 1 },
      run: join(folder, "run"),
      monitors: [
        {
          name: "killer",
          record(event: RunEvent) {
            if (event.type !== "step-end") return;
            seen.push(event.step);
            if (isDeadly && event.step === 2) process.kill(rankPid(1), "SIGKILL");
          },
        },
      ],
    });
    await expect(train(config(true))).rejects.toThrow("rank 1 of 2 was ended by SIGKILL");
    const result = await train(config(false));
    expect([result.reason, result.steps]).toEqual(["finished", 5]);
    // the step that was being saved when the rank died may be made again
    expect([...new Set(seen)]).toEqual([0, 1, 2, 3, 4]);
    expect(seen.length).toBeLessThanOrEqual(6);
    await result.policy.engine.close();
  });
});
