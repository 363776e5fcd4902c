import { describe, expect, test } from "vitest";
import { defineEnv } from "../env/define-env.ts";
import type { RunEvent } from "../schema/run-event.ts";
import { listed } from "../task/listed.ts";
import { fakePolicy } from "./fixtures/fake-policy.ts";
import { grpo } from "./presets/grpo.ts";
import { train } from "./train-sync.ts";

const settings = { algorithm: grpo({ groupSize: 2 }), tasksPerStep: 1, eval: { tasks: 0 } };

function world(release: () => void | Promise<void>, onAct: () => void = () => {}, envMs = 30_000) {
  const closed: unknown[] = [];
  const env = defineEnv({
    name: "shared",
    tasks: listed({ train: [{ word: "a" }] }),
    start: ({ task }) => ({ state: { word: task.word }, say: task.word }),
    act: () => {
      onAct();
      return { done: true };
    },
    close: (state) => void closed.push(state),
    release,
    limits: { turns: 1, turnTokens: 2, envMs },
  });
  return { env, closed };
}

describe("what an environment's attempts share is let go", () => {
  test("once, when a run has ended, and after its episodes were closed", async () => {
    let count = 0;
    const { env, closed } = world(() => {
      count += 1;
      expect(closed.length).toBe(4);
    });
    expect((await train({ ...settings, env, policy: fakePolicy(), steps: 2 })).reason).toBe("finished");
    expect(count).toBe(1);
    expect(closed).not.toContain(undefined);
  });

  test("once, when it is stopped", async () => {
    let count = 0;
    const stop = new AbortController();
    const { env } = world(
      () => void count++,
      () => stop.abort(),
    );
    const { reason } = await train({ ...settings, env, policy: fakePolicy(), steps: 50, signal: stop.signal });
    expect([reason, count]).toEqual(["stopped", 1]);
  });

  test("once, when it fails, also before its first step; the error is that of the run", async () => {
    let count = 0;
    const { env } = world(() => {
      count++;
      throw new Error("the pool is gone");
    });
    const broken = fakePolicy(0.5, { beforeSample: () => Promise.reject(new Error("no engine")) });
    await expect(train({ ...settings, env, policy: broken, steps: 1 })).rejects.not.toThrow("the pool is gone");
    expect(count).toBe(1);
    const policy = () => Promise.reject(new Error("no policy"));
    await expect(train({ ...settings, env, policy, steps: 1 })).rejects.toThrow("no policy");
    expect(count).toBe(2);
  });

  test("a release that fails or hangs is a warning, and the result stays", async () => {
    for (const release of [() => Promise.reject(new Error("the pool is gone")), () => new Promise<void>(() => {})]) {
      const events: RunEvent[] = [];
      const { env } = world(release, undefined, 200);
      const monitors = [{ name: "seen", record: (event: RunEvent) => void events.push(event) }];
      const { reason } = await train({ ...settings, env, policy: fakePolicy(), steps: 1, monitors });
      expect(reason).toBe("finished");
      const warnings = events.flatMap((event) => (event.type === "warning" ? [event.message] : []));
      expect(warnings.join()).toContain("release() of shared failed");
    }
  });
});
