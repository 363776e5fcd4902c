import { cosine, type Env, type EvalReport, fromScratch, grpo, imitate } from "ludus";
import { Episode } from "ludus/env";
import { type OfficeSkillsState, type OfficeSkillsTask, officeSkillFor, officeSkills } from "ludus/environments";
import { trainBpe } from "ludus/policy";
import type { Recipe } from "ludus/recipe";
import { skillDisclosureClaims } from "./claims.ts";

const variants = ["disclosed", "everything", "hidden"] as const;
const worlds = {
  disclosed: officeSkills(),
  everything: officeSkills({ skills: "everything" }),
  hidden: officeSkills({ skills: "hidden" }),
};

/** The same office with the one skill that a request needs: where every arm learns to do what a skill says. */
function withOneSkill(env: Env<OfficeSkillsTask, OfficeSkillsState>): Env<OfficeSkillsTask, OfficeSkillsState> {
  return {
    ...env,
    tasks: {
      ...env.tasks,
      async at(split, index) {
        const task = await env.tasks.at(split, index);
        return { ...task, data: { ...task.data, library: [officeSkillFor(task.data)] } };
      },
    },
  };
}

const toRead = imitate({ demonstrations: 3000, steps: 250, learningRate: cosine(1e-3, 0.1) });
const toFile = imitate({
  demonstrations: 3000,
  noise: 0.03,
  steps: 200,
  batchSize: 32,
  learningRate: cosine(1e-3, 0.1),
});
const reinforced = { algorithm: grpo({ groupSize: 8, learningRate: 1e-4 }), steps: 10, tasksPerStep: 8 };
/** Held-out tasks, so many that chance moves a share by less than 0.03. */
const tasks = 300;

export const skillDisclosure: Recipe = {
  system: "skill-disclosure",
  title: "Skills: progressive disclosure",
  measures: {
    success: "right",
    tokens: "tokens in context",
    tokensOfEverything: "of everything's",
    turns: "turns",
    seconds: "seconds",
  },
  claims: skillDisclosureClaims,
  async run(lab) {
    // one tokenizer for all, so that their tokens can be compared
    const tokenizer = await tokenizerOf(
      variants.map((variant) => worlds[variant]),
      lab.seed,
    );
    const tokensOf = (text: string) => tokenizer.encode(text).length;
    const whole = (await expertOn(worlds.everything, tokensOf)).tokens;
    for (const skills of ["disclosed", "everything"] as const) {
      // the same in compact style, which is trained on, and with instructions as long as people write them
      for (const [name, style] of [
        [`expert, ${skills}`, "compact"],
        [`expert, ${skills}, long`, "tags"],
      ] as const) {
        await lab.arm(name, async (arm) => {
          const everything = officeSkills({ style, skills: "everything" });
          const own =
            style === "compact" ? tokenizer : await tokenizerOf([officeSkills({ style }), everything], lab.seed);
          const count = (text: string) => own.encode(text).length;
          const { success, tokens, turns } = await expertOn(officeSkills({ style, skills }), count);
          const all = await expertOn(everything, count);
          arm.measure({ success, tokens, tokensOfEverything: tokens / all.tokens, turns });
        });
      }
    }
    const policy = fromScratch({ size: "tiny", threads: 1, tokenizer, contextLength: 384 });
    for (const variant of variants) {
      await lab.arm(variant, async (arm) => {
        const env = worlds[variant];
        const start = await lab.begin({ env: withOneSkill(env), policy, warmStart: toRead });
        const imitated = await start.train(`${variant}, imitation`, {
          env,
          warmStart: toFile,
          algorithm: grpo(),
          steps: 0,
        });
        arm.also(`${variant}, imitation`, measured(await start.evaluate({ env, tasks }), whole));
        const { history, seconds } = await start.trainOn(variant, { env, ...reinforced });
        const report = await start.evaluate({ env, tasks });
        arm.measure({ ...measured(report, whole), seconds: start.seconds + imitated.seconds + seconds });
        arm.curve(
          "success",
          history.map((step) => step["rollout/success"] ?? 0),
        );
      });
    }
  },
};

/** Words of the worlds' own, in tokens. */
async function tokenizerOf(envs: readonly ReturnType<typeof officeSkills>[], seed: number) {
  const texts = await Promise.all(envs.map((env) => env.sampleTexts(32, seed)));
  return trainBpe({ texts: texts.flat(2), vocabularySize: 576 });
}

function measured(report: EvalReport, whole: number): Record<string, number | EvalReport> {
  const played = report.rollouts.map(({ trajectories }) => trajectories[0]);
  const tokens = played.reduce((sum, { tokens_T }) => sum + tokens_T.length, 0) / played.length;
  return { success: report, tokens, tokensOfEverything: tokens / whole, turns: report.turns };
}

/** What the scripted expert has in its context in the end, in the tokens of its texts. */
async function expertOn(env: ReturnType<typeof officeSkills>, tokensOf: (text: string) => number) {
  const count = 200;
  const { signal } = new AbortController();
  let [success, tokens, turns] = [0, 0, 0];
  for (let index = 0; index < count; index++) {
    const episode = new Episode(env, await env.tasks.at("test", index), { signal });
    let move = await episode.start();
    while ("role" in move) {
      const said = episode.expertSays() ?? "";
      tokens += tokensOf(said) + move.messages.reduce((sum, { content }) => sum + tokensOf(content), 0);
      turns++;
      move = await episode.step(said);
    }
    if ((await episode.finish(move)).scores.agent?.success) success++;
  }
  return { success: success / count, tokens: tokens / count, turns: turns / count };
}
