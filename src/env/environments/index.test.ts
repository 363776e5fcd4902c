import { describe, expect, test } from "vitest";
import { byteTokenizer } from "../../policy/byte-tokenizer.ts";
import { compactRenderer } from "../../policy/compact-renderer.ts";
import { demonstrate } from "../../rollout/run-rollout.ts";
import { noBubblewrap } from "../../tool/sandbox/testing/bubblewrap-here.ts";
import { checkEnv } from "../check-env.ts";
import { shippedEnvs } from "./index.ts";

// they start processes at every turn: fewer and shorter episodes, and none where there are no boxes
const inBoxes = ["repositories"];
const isPlayed = (name: string) => noBubblewrap === undefined || !inBoxes.includes(name);

describe.each(Object.entries(shippedEnvs))("%s", (name, { make, description }) => {
  const [tasks, turns, demonstrations, timeoutMs] = inBoxes.includes(name) ? [1, 6, 4, 120_000] : [2, 40, 20, 30_000];

  test("is known by its own name, and described", () => {
    expect(make().name).toBe(name);
    expect(description).toBe(make().description);
    expect(description).not.toBe(name);
  });

  test.runIf(isPlayed(name)).each(["compact", "tags"] as const)(
    "keeps its promises in %s style, without a warning",
    async (style) => {
      const { findings, episodes } = await checkEnv(make({ style }), { tasks, turns, timeoutMs: 10_000 });
      expect(findings).toEqual([]);
      expect(episodes).toBeGreaterThan(50);
    },
    timeoutMs,
  );

  test.runIf(isPlayed(name)).each(["compact", "tags"] as const)(
    "lists what may be said in %s style, so that demonstrations can be noisy",
    async (style) => {
      const env = make({ style });
      const renderContext = {
        renderer: compactRenderer({ tokenizer: byteTokenizer() }),
        engine: { info: { contextLength: 1e5 } },
      };
      const successes = async (noise: number) => {
        const shown = Array.from({ length: demonstrations }, async (_, i) =>
          demonstrate(env, await env.tasks.at("train", i), renderContext, { id: `d${i}`, seed: i, noise }),
        );
        return (await Promise.all(shown)).filter(({ trajectories }) => trajectories.at(-1)?.score.success).length;
      };
      expect(await successes(1)).toBeLessThan(await successes(0));
    },
    timeoutMs,
  );

  test("another seed, other tasks", async () => {
    const data = async (seed: number) => {
      const { tasks } = make({ seed });
      return Promise.all([0, 1, 2, 3, 4, 5, 6, 7].map(async (index) => (await tasks.at("train", index)).data));
    };
    expect(await data(1)).toEqual(await data(1));
    expect(await data(1)).not.toEqual(await data(2));
  });
});
