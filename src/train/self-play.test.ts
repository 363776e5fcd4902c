import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { tiny } from "../engine/model/model-config.ts";
import { nim } from "../env/environments/nim.ts";
import type { MakeGuide } from "../guide/guide.ts";
import { inOrder } from "../guide/in-order.ts";
import { opponentPool } from "../guide/opponent-pool.ts";
import type { Trajectory } from "../schema/trajectory.ts";
import { openRun } from "../store/index.ts";
import { fakePolicy } from "./fixtures/fake-policy.ts";
import { letters } from "./fixtures/letters.ts";
import { fromScratch } from "./from-scratch.ts";
import { grpo } from "./presets/grpo.ts";
import { rejectionTuning } from "./presets/offline.ts";
import { storedTrajectories } from "./stored-groups.ts";
import { train } from "./train-sync.ts";

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "ludus-self-play-"));
});
afterEach(() => rmSync(folder, { recursive: true }));

const guide = opponentPool({ role: "opponent", every: 1, size: 2, newest: 0.5 });

test("opponents speak with their own copies, and what they say is not learned from", async () => {
  const policy = fakePolicy(0.5);
  const env = letters({ turns: 2, roles: ["player", "opponent"] });
  const common = { steps: 4, tasksPerStep: 4, eval: { tasks: 0 }, run: folder, seed: 3 };
  await train({ env, policy, guide, algorithm: grpo({ groupSize: 4 }), ...common });
  const asked = new Set(policy.engine.samples.map(({ weights }) => weights));
  expect(asked).toEqual(
    new Set(["policy", "guide/opponent-0", "guide/opponent-1", "guide/opponent-2", "guide/opponent-3"]),
  );
  const run = await openRun(folder, { readOnly: true });
  const stored: Trajectory[] = [];
  for await (const trajectory of storedTrajectories(run)) stored.push(trajectory);
  await run.close();
  const byRole = Map.groupBy(stored, ({ role }) => role);
  expect(byRole.get("player")!.every(({ weights }) => weights === "policy")).toBe(true);
  expect(byRole.get("opponent")!.every(({ weights }) => weights.startsWith("guide/opponent-"))).toBe(true);
  // rows of opponents would be among these
  const learned = policy.engine.backwards.flatMap(({ batch }) => batch.rows).length;
  expect(learned).toBeGreaterThan(0);
  expect(learned).toBeLessThanOrEqual(byRole.get("player")!.length);
});

describe("a run in nim", () => {
  const policy = fromScratch({
    tokenizer: "bytes",
    threads: 1,
    size: (vocabularySize) => tiny({ vocabularySize, width: 32, contextLength: 256 }),
  });
  // a model that knows nothing loses every game: it learns from whatever it did
  const algorithm = rejectionTuning({ groupSize: 2, filter: () => true });
  const config = (steps: number, run: string) => ({
    ...{ env: nim({ heaps: 2, most: 2 }), policy, guide, algorithm, steps, run },
    ...{ tasksPerStep: 2, eval: { tasks: 0 }, seed: 5, save: { every: 1 } },
  });

  test("that is stopped and resumed has the same opponents and leaves the same weights", {
    timeout: 60_000,
  }, async () => {
    const whole = await train(config(3, join(folder, "whole")));
    const first = await train(config(2, join(folder, "parts")));
    await first.policy.engine.close();
    const parts = await train(config(3, join(folder, "parts")));
    const opponents = ({ policy: { engine } }: typeof whole) =>
      engine.info.weights.filter((name) => name.startsWith("guide/"));
    expect(opponents(parts)).toEqual(opponents(whole));
    expect(opponents(whole)).toHaveLength(2);
    const row = { rows: [{ tokens: [1, 2, 3, 4] }] };
    for (const weights of ["policy", ...opponents(whole)]) {
      const [a, b] = await Promise.all([whole, parts].map((run) => run.policy.engine.forward(row, { weights })));
      expect(b.logprobs_B_T).toEqual(a.logprobs_B_T);
    }
    await whole.policy.engine.close();
    await parts.policy.engine.close();
  });
});

test("a guide keeps its copies under names of its own", async () => {
  const touching: MakeGuide = (context) => {
    const inner = inOrder()(context);
    return {
      ...inner,
      async pick(count) {
        await context.engine.snapshot("reference");
        return inner.pick(count);
      },
    };
  };
  const run = train({
    ...{ env: letters(), policy: fakePolicy(), guide: touching, algorithm: grpo(), steps: 1, tasksPerStep: 1 },
    eval: { tasks: 0 },
  });
  await expect(run).rejects.toThrow('bad-weights: got weights "reference" of a guide, expected a name like "guide/…"');
});
