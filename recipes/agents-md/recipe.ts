import { cosine, type EvalReport, fromScratch, grpo, imitate } from "ludus";
import { type ProjectRulesTask, projectRules } from "ludus/environments";
import { trainBpe } from "ludus/policy";
import type { Recipe } from "ludus/recipe";
import { agentsMdClaims } from "./claims.ts";

const worlds = { told: projectRules(), hidden: projectRules({ rules: "hidden" }) };
const warmStart = imitate({
  demonstrations: 1500,
  noise: 0.3,
  steps: 150,
  batchSize: 32,
  learningRate: cosine(3e-3, 0.1),
});
const training = { algorithm: grpo({ groupSize: 8, learningRate: 5e-4 }), steps: 12, tasksPerStep: 8 };

export const agentsMd: Recipe = {
  system: "agents-md",
  title: "AGENTS.md",
  measures: {
    success: "named as asked for",
    nested: "where two files differ",
    tokensOfWithout: "tokens, of without",
    seconds: "seconds",
  },
  claims: agentsMdClaims,
  async run(lab) {
    // one tokenizer for both, so that their tokens can be compared
    const texts = await Promise.all([worlds.told, worlds.hidden].map((env) => env.sampleTexts(64, lab.seed)));
    const policy = fromScratch({
      size: "tiny",
      threads: 1,
      tokenizer: trainBpe({ texts: texts.flat(2), vocabularySize: 400 }),
      contextLength: 256,
    });
    for (const [name, env] of [
      ["with AGENTS.md", worlds.told],
      ["without AGENTS.md", worlds.hidden],
    ] as const) {
      await lab.arm(name, async (arm) => {
        const start = await lab.begin({ env, policy, warmStart });
        const without = tokensIn(await start.evaluate({ env: worlds.hidden, tasks: 100 }));
        const measured = (report: EvalReport) => ({
          success: report,
          nested: onNested(report),
          tokensOfWithout: tokensIn(report) / without,
        });
        arm.also(`${name}, imitation`, measured(await start.evaluate()));
        const { seconds, history } = await start.train(name, training);
        arm.measure({ ...measured(await start.evaluate()), seconds: start.seconds + seconds });
        const curve = history.map((step) => step["rollout/success"] ?? 0);
        arm.curve("success", curve);
        if (env === worlds.told) {
          arm.also("with AGENTS.md, taken away", measured(await start.evaluate({ env: worlds.hidden })));
        }
      });
    }
  },
};

/** Right where the package has a file of its own, which differs from the project's. */
function onNested({ rollouts }: EvalReport): number {
  const those = rollouts.filter(({ task }) => (task.data as ProjectRulesTask).packageEnding !== undefined);
  return those.filter(({ trajectories }) => trajectories[0].score.success).length / those.length;
}

function tokensIn({ rollouts }: EvalReport): number {
  return rollouts.reduce((sum, { trajectories }) => sum + trajectories[0].tokens_T.length, 0) / rollouts.length;
}
