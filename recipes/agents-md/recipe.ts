import { cosine, type EvalReport, fromScratch, grpo, imitate } from "ludus";
import { type ProjectRulesTask, projectRules } from "ludus/environments";
import { trainBpe } from "ludus/policy";
import type { Beginning, Recipe } from "ludus/recipe";
import { demonstrate } from "ludus/rollout";
import { agentsMdClaims } from "./claims.ts";

const worlds = {
  told: projectRules({ style: "compact" }),
  hidden: projectRules({ style: "compact", rules: "hidden" }),
};
const warmStart = imitate({ demonstrations: 1500, noise: 0.05, steps: 450, learningRate: cosine(1e-3, 0.1) });
const training = { algorithm: grpo({ groupSize: 8, learningRate: 1e-4 }), steps: 8, tasksPerStep: 8 };
/** Modules that training shows, as their names have to be written; what files ask for is drawn anew for each task. */
const known = { split: "train", tasks: 300 };

export const agentsMd: Recipe = {
  system: "agents-md",
  title: "AGENTS.md",
  measures: {
    success: "named as asked for",
    nested: "where two files differ",
    newModules: "of unseen modules",
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
      contextLength: 96,
    });
    for (const [name, env] of [
      ["with AGENTS.md", worlds.told],
      ["without AGENTS.md", worlds.hidden],
    ] as const) {
      await lab.arm(name, async (arm) => {
        const start = await lab.begin({ env, policy, warmStart });
        const without = await tokensWithout(start);
        const measured = async (asked = env) => {
          const report = await start.evaluate({ ...known, env: asked });
          return { success: report, nested: onNested(report), tokensOfWithout: tokensIn(report) / without };
        };
        arm.also(`${name}, imitation`, await measured());
        const { seconds, history } = await start.train(name, training);
        arm.measure({ ...(await measured()), newModules: await start.evaluate(), seconds: start.seconds + seconds });
        const curve = history.map((step) => step["rollout/success"] ?? 0);
        arm.curve("success", curve);
        if (env === worlds.told) {
          arm.also("with AGENTS.md, taken away", await measured(worlds.hidden));
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

/** Of episodes of someone who knows the rule and is not told: what the file adds to. */
async function tokensWithout({ policy }: Pick<Beginning, "policy">): Promise<number> {
  const count = 100;
  let tokens = 0;
  for (let index = 0; index < count; index++) {
    const task = await worlds.hidden.tasks.at("train", index);
    const { trajectories } = await demonstrate(worlds.hidden, task, policy, { id: `without/${index}`, seed: index });
    tokens += trajectories[0].tokens_T.length;
  }
  return tokens / count;
}

function tokensIn({ rollouts }: EvalReport): number {
  return rollouts.reduce((sum, { trajectories }) => sum + trajectories[0].tokens_T.length, 0) / rollouts.length;
}
