import { describe, expect, test } from "vitest";
import { checkEnv } from "../check-env.ts";
import { shippedEnvs } from "./index.ts";

describe.each(Object.entries(shippedEnvs))("%s", (name, { make, description }) => {
  test("is known by its own name, and described", () => {
    expect(make().name).toBe(name);
    expect(description).toBe(make().description);
    expect(description).not.toBe(name);
  });

  test.each(["compact", "tags"] as const)("keeps its promises in %s style, without a warning", async (style) => {
    const { findings, episodes } = await checkEnv(make({ style }), { tasks: 2, timeoutMs: 10_000 });
    expect(findings).toEqual([]);
    expect(episodes).toBeGreaterThan(50);
  });

  test("another seed, other tasks", async () => {
    const data = async (seed: number) => {
      const { tasks } = make({ seed });
      return Promise.all([0, 1, 2, 3, 4, 5, 6, 7].map(async (index) => (await tasks.at("train", index)).data));
    };
    expect(await data(1)).toEqual(await data(1));
    expect(await data(1)).not.toEqual(await data(2));
  });
});
