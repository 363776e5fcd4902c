import {
  cosine,
  type Env,
  formats,
  fromScratch,
  grpo,
  imitate,
  type LearningPolicy,
  listed,
  runGroup,
  withDast,
} from "ludus";
import { type ScreenTask, type VirtualScreenState, virtualScreen } from "ludus/environments";
import type { Recipe } from "ludus/recipe";
import { uiR1Claims } from "./claims.ts";

type ScreenEnv = Env<ScreenTask, VirtualScreenState>;

const samples = 136;
const learningRate = 2e-4;
const screen = withThoughts(virtualScreen({ widgets: 3 }));
const steps = 80;
const tasksPerStep = 34;
/** Held-out tasks, so many that chance moves a success by less than 0.02. */
const tasks = 1000;

/** UI-R1-E's second stage: whoever thinks is not well-formed. */
function withoutThoughts(env: ScreenEnv): ScreenEnv {
  return {
    ...env,
    act(context) {
      const acted = env.act!(context);
      if ((context.said.thought ?? "") !== "") context.state.isWellFormed = false;
      return acted;
    },
  };
}

/** UI-R1 thinks before it answers. The expert's thoughts here are of a length left to chance, and none is needed. */
function withThoughts(env: ScreenEnv): ScreenEnv {
  return {
    ...env,
    format: formats.thinkAnswer(),
    limits: { ...env.limits, turnTokens: 96 },
    expert(context) {
      const said = env.expert!(context);
      const answer = typeof said === "string" ? said : (said?.answer ?? "");
      const words = context.rng.integer(5);
      return { thought: Array.from({ length: words }, () => "well").join(" "), answer };
    },
  };
}

export const uiR1: Recipe = {
  system: "ui-r1",
  title: "UI-R1 and UI-R1-E",
  measures: {
    success: "right",
    newLabels: "right, new labels",
    tokens: "tokens said",
    seconds: "seconds",
  },
  claims: uiR1Claims,
  async run(lab) {
    const start = await lab.begin({
      env: screen,
      // numbers and tags are single tokens: with bytes, rows are three times as long and coordinates are copied digit by digit
      policy: fromScratch({ size: "tiny", tokenizer: 448 }),
      warmStart: imitate({ demonstrations: 8000, noise: 0.4, steps: 2000, learningRate: cosine(3e-3, 0.1) }),
    });
    const measured = async () => {
      const [known, fresh] = [await start.evaluate({ tasks }), await start.evaluate({ split: "new-labels", tasks })];
      return { success: known, newLabels: fresh, tokens: known.sampledTokens };
    };
    await lab.arm("warm start", async (arm) => arm.measure({ ...(await measured()), seconds: start.seconds }));

    await start.restore();
    const chosen = await chooseTasks(start.policy, lab.seed);
    const few: ScreenEnv = { ...screen, tasks: listed({ train: chosen, test: chosen }, { name: "chosen-screens" }) };
    const imitated = { algorithm: grpo(), steps: 0 };
    for (const [name, env, demonstrations] of [
      ["SFT on 136 chosen", few, samples],
      ["SFT on 4000", screen, 4000],
    ] as const) {
      const warmStart = imitate({ demonstrations, noise: 0, steps, batchSize: 272, learningRate });
      await lab.arm(name, async (arm) => {
        const { seconds } = await start.train(name, { ...imitated, env, warmStart });
        arm.measure({ ...(await measured()), seconds });
      });
    }
    const plain = grpo({ learningRate });
    const random: ScreenEnv = { ...screen, tasks: await drawTasks(lab.seed) };
    for (const { name, env = few, algorithm = plain, isThinkingEnded = false } of [
      { name: "GRPO on 136 chosen" },
      { name: "GRPO on 136 at random", env: random },
      { name: "GRPO with DAST", algorithm: withDast(plain) },
      { name: "UI-R1-E", algorithm: withDast(plain), isThinkingEnded: true },
    ]) {
      await lab.arm(name, async (arm) => {
        const first = await start.train(name, { env, algorithm, steps, tasksPerStep });
        const second = isThinkingEnded
          ? await start.trainOn(name, { env: withoutThoughts(env), algorithm: plain, steps, tasksPerStep })
          : { history: [], seconds: 0 };
        const [history, seconds] = [[...first.history, ...second.history], first.seconds + second.seconds];
        arm.measure({ ...(await measured()), seconds });
        for (const [curve, metric] of [
          ["success", "rollout/success"],
          ["tokens", "rollout/sampled-tokens"],
        ]) {
          arm.curve(
            curve,
            history.map((step) => step[metric] ?? 0),
          );
        }
      });
    }
  },
};

/**
 * What is there to choose from: recorded screens, of which one click in four has the wrong widget's box as its target, as happens where people
 * label screens.
 */
async function collected(index: number): Promise<ScreenTask> {
  const { data } = await screen.tasks.at("train", index);
  const { goal, pages } = data;
  if (goal.kind !== "step" || goal.target === undefined || index % 4 !== 0) return data;
  const others = Object.values(pages)
    .flat()
    .filter(({ label }) => label !== goal.target);
  const target = others[index % others.length]?.label;
  return target === undefined ? data : { ...data, goal: { ...goal, target } };
}

/** As many tasks as are chosen, without choosing. */
async function drawTasks(seed: number): Promise<ScreenEnv["tasks"]> {
  const drawn = await Promise.all(
    Array.from({ length: samples }, (_, index) => collected(600_000 + samples * seed + index)),
  );
  return listed({ train: drawn, test: drawn }, { name: "random-screens" });
}

/** Quality: the widget that is to be clicked is the one that the instruction names. */
function isLabelledWell({ goal, instruction }: ScreenTask): boolean {
  return goal.kind !== "step" || goal.target === undefined || instruction.compact.endsWith(` ${goal.target}`);
}

/**
 * Quality: instruction and target agree. Difficulty: neither all nor none of eight attempts are right. Diversity: actions take
 * turns, and within an action the labels asked for.
 */
async function chooseTasks(policy: LearningPolicy, seed: number): Promise<ScreenTask[]> {
  const found = await Promise.all(Array.from({ length: 1000 }, (_, index) => collected(500_000 + index)));
  const good = found.filter(isLabelledWell);
  const tasks = listed({ train: good, test: good }, { name: "well-labelled-screens" });
  const candidates = await Promise.all(good.map((_, index) => tasks.at("train", index)));
  const groups = await Promise.all(
    candidates.map((task, index) =>
      runGroup(screen, task, policy, { id: `choose/${index}`, seed: 7919 * seed + index, size: 8 }),
    ),
  );
  const undecided = groups.filter(({ rollouts }) => {
    const solved = rollouts.filter(({ trajectories }) => trajectories[0]?.score.success === true).length;
    return solved > 0 && solved < rollouts.length;
  });
  const kinds = Map.groupBy(undecided, ({ task }) => kindOf(task.data));
  const chosen: ScreenTask[] = [];
  for (let turn = 0; chosen.length < samples && turn < undecided.length; turn++) {
    for (const members of kinds.values()) {
      const next = members[turn];
      if (next !== undefined && chosen.length < samples) chosen.push(next.task.data);
    }
  }
  return chosen;
}

function kindOf({ goal, instruction }: ScreenTask): string {
  return goal.kind === "step" ? `${goal.action} ${instruction.compact}` : goal.kind;
}
