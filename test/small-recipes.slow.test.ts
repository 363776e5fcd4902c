import { expect, test } from "vitest";
import { recipes } from "../recipes/index.ts";
import { tiny } from "../src/engine/model/model-config.ts";
import type { ArmRecord } from "../src/recipe/claim.ts";
import { openLab } from "../src/recipe/open-lab.ts";
import type { Beginning, Lab } from "../src/recipe/recipe.ts";
import { fromScratch } from "../src/train/from-scratch.ts";

// Their programs, with a model and counts so small that nothing is learned: every arm is made, and has what the claims speak of.

const names = [
  ...["reward-ensembles", "self-rewarding", "vspo", "agent-flan", "r1-zero"],
  ...["search", "math-shepherd", "exploration", "error-recovery"],
  ...["vpt", "openvla", "webgum", "agents-md", "skill-library"],
  ...["skill-disclosure", "instruction-hierarchy"],
  ...["reft", "code-rl", "deep-swe", "ssr"],
  ...["webagent-r1", "webrl", "agent-q"],
];

const policy = fromScratch({
  tokenizer: "bytes",
  valueHead: true,
  threads: 1,
  size: (vocabularySize) => tiny({ vocabularySize, width: 32, contextLength: 2048 }),
});

function smaller(real: Lab): Lab {
  return {
    ...real,
    async begin(options) {
      const warmStart = options.warmStart === undefined ? {} : { warmStart: { ...options.warmStart, steps: 1 } };
      const start = await real.begin({ ...options, ...warmStart, policy });
      const fewer = (config: object) => ({
        ...{ ...config, tasksPerStep: 2, steps: 1 },
        ...("warmStart" in config ? { warmStart: { ...(config.warmStart as object), steps: 1 }, steps: 0 } : {}),
      });
      const small: Beginning<never, never> = {
        ...start,
        train: (arm, config) => start.train(arm, fewer(config) as never),
        trainOn: (arm, config) => start.trainOn(arm, fewer(config) as never),
        async evaluate(chosen = {}) {
          const report = await start.evaluate({
            ...chosen,
            tasks: 8,
            attempts: Math.min(2, chosen.attempts ?? 1),
          } as never);
          // a model that has learned nothing solves nothing, and scorers need both outcomes
          const rollouts = report.rollouts.map((rollout, i) => ({
            ...rollout,
            trajectories: rollout.trajectories.map((each) => ({
              ...each,
              score: { ...each.score, success: i % 2 === 0 },
            })),
          }));
          return { ...report, rollouts };
        },
      };
      return small as never;
    },
  };
}

test.each(names)("%s makes all that its claims compare", { timeout: 120_000 }, async (name) => {
  const recipe = recipes.find(({ system }) => system === name)!;
  const records: ArmRecord[] = [];
  const signal = new AbortController().signal;
  const lab = openLab({
    seed: 0,
    signal,
    isTuning: true,
    isClaimedOnly: false,
    wants: () => true,
    keep: (each) => records.push(each),
    onProgress() {},
  });
  try {
    await recipe.run(smaller(lab));
  } finally {
    await lab.close();
  }
  for (const { method, baseline, measure } of recipe.claims) {
    for (const arm of [method, baseline]) {
      expect(records.find((each) => each.arm === arm)?.measures[measure], `${measure} of ${arm}`).toEqual(
        expect.any(Number),
      );
    }
  }
});
