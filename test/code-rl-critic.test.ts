import { expect, test } from "vitest";
import { outcomeAlone, outcomeCritic } from "../recipes/code-rl/critic.ts";
import { codeRlReturns } from "../recipes/programs.ts";
import { embedded } from "../src/engine/embedded/embedded.ts";
import { tiny } from "../src/engine/model/model-config.ts";
import { createRng } from "../src/random.ts";
import { makeTrajectory, type Trajectory } from "../src/schema/trajectory.ts";

/** What was asked, three tokens of which the second decides between passing and failing, and one that ends. */
function attempt(index: number, isRight: boolean, rng: ReturnType<typeof createRng>): Trajectory {
  const any = () => 8 + rng.integer(4);
  const mask = [0, 1, 1, 1, 1];
  return makeTrajectory({
    ...{ id: `${index}`, rollout: `${index}`, taskId: "task", role: "agent", weights: "policy", weight: 1 },
    tokens_T: Int32Array.of(any(), any(), isRight ? 5 : 6, any(), 7),
    mask_T: Uint8Array.from(mask),
    logprobs_T: new Float32Array(mask.length),
    versions_T: Int32Array.from(mask, (sampled) => sampled - 1),
    turns: [{ span: { start: 1, end: 5 }, text: "", calls: [], reward: 0, observation: "" }],
    score: { total: codeRlReturns[isRight ? 3 : 2]!, parts: {}, success: isRight },
    ...{ stop: "completed", temperature: 1 },
  });
}

test("CodeRL's critic learns after which token an outcome is certain", { timeout: 60_000 }, async () => {
  const model = tiny({ vocabularySize: 16, width: 32, contextLength: 16 });
  const engine = await embedded({ model, seed: 1, threads: 1 });
  try {
    const rng = createRng(2);
    const attempts = Array.from({ length: 64 }, (_, i) => attempt(i, i % 2 === 0, rng));
    const critic = outcomeCritic(engine);
    await critic.learn(attempts, { epochs: 30, learningRate: 1e-2, seed: 0 });
    const passes = (await critic.probabilities(attempts.slice(0, 2))).map((shares) => outcomeAlone(shares, 3));
    for (const word_T of passes) {
      expect(word_T[0]).toBe(0);
      expect(word_T[1]).toBeGreaterThan(0.2);
      expect(word_T[1]).toBeLessThan(0.8);
    }
    expect(passes[0]![2]).toBeGreaterThan(0.9);
    expect(passes[0]![4]).toBeGreaterThan(0.9);
    expect(passes[1]![2]).toBeLessThan(0.1);
  } finally {
    await engine.close();
  }
});
