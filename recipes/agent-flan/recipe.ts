import { cosine, defineEnv, type Env, type EvalReport, fromScratch, generated, grpo, imitate } from "ludus";
import { type FunctionCallingTask, functionCalling } from "ludus/environments";
import type { Beginning, Lab, Recipe } from "ludus/recipe";
import { demonstrate } from "ludus/rollout";
import type { Trajectory } from "ludus/schema";
import { agentFlanClaims } from "./claims.ts";

type Calling = Env<FunctionCallingTask, undefined>;

const plain = { twoCallShare: 0, distractorShare: 0 };
/** Requests that a tool can meet: the agents' task. */
const agents = functionCalling({ ...plain, impossibleShare: 0 });
/** Requests that none can: negative samples, whose right answer is a plain reply. */
const negatives = functionCalling({ ...plain, impossibleShare: 1, seed: 1 });
const sounds = {
  ...{ cow: "moo", cat: "meow", dog: "woof", duck: "quack", sheep: "baa", pig: "oink", owl: "hoot", bee: "buzz" },
  ...{
    crow: "caw",
    frog: "croak",
    lion: "roar",
    snake: "hiss",
    horse: "neigh",
    goat: "bleat",
    mouse: "squeak",
    dove: "coo",
  },
};
/** Stands for general text: what the policy knows before it becomes an agent. */
const general: Calling = defineEnv<FunctionCallingTask, undefined>({
  name: "general",
  tasks: generated((rng) => {
    const animals = Object.keys(sounds);
    return { request: `What does a ${animals[rng.integer(animals.length)]} say?`, calls: [] };
  }),
  start: ({ task }) => ({ state: undefined, say: task.request }),
  score: ({ task, answer }) => (answer.trim() === soundOf(task) ? 1 : 0),
  expert: ({ task }) => soundOf(task),
  limits: { turns: 1, turnTokens: 64 },
});
const policy = fromScratch({ size: "tiny", tokenizer: "bytes", contextLength: 320 });
const steps = 250;
const demonstrations = 1500;
const tasks = 200;

export const agentFlan: Recipe = {
  system: "agent-flan",
  title: "Agent-FLAN and AgentTuning",
  measures: {
    success: "right calls",
    hallucinated: "calls where no tool fits",
    general: "right, general",
    seconds: "seconds",
  },
  claims: agentFlanClaims,
  async run(lab) {
    const warmStart = imitate({ demonstrations: 200, steps: 120, learningRate: cosine(3e-3, 0.1) });
    const start = await lab.begin({ env: general, policy, warmStart });
    const negativeRows = await shown(negatives, start, demonstrations / 2);
    const generalRows = await shown(general, start, demonstrations);
    const arms: [string, Mix | undefined][] = [
      ["without negatives", undefined],
      ["with negatives", { rows: negativeRows, share: 0.2 }],
      // as many agents' rows as with negatives, and nothing else
      ["half the demonstrations", undefined],
      ["η = 0", { rows: generalRows, share: 1 }],
      ["η = 0.2", { rows: generalRows, share: 0.8 }],
      ["η = 0.5", { rows: generalRows, share: 0.5 }],
      ["η = 1", undefined],
    ];
    for (const [name, mix] of arms) await arm(lab, start, name, mix);
  },
};

function soundOf({ request }: FunctionCallingTask): string {
  const animal = Object.keys(sounds).find((each) => request === `What does a ${each} say?`);
  return sounds[animal as keyof typeof sounds];
}

interface Mix {
  readonly rows: readonly Trajectory[];
  readonly share: number;
}

async function arm(lab: Lab, start: Beginning<FunctionCallingTask, undefined>, name: string, mix: Mix | undefined) {
  await lab.arm(name, async (made) => {
    const own = name === "half the demonstrations" ? Math.round(0.8 * steps) : steps;
    const warmStart = imitate({ demonstrations, steps: own, learningRate: cosine(3e-3, 0.1), ...(mix && { mix }) });
    const { seconds } = await start.train(name, { env: agents, warmStart, algorithm: grpo(), steps: 0 });
    const [called, refused, other] = [
      await start.evaluate({ env: agents, tasks }),
      await start.evaluate({ env: negatives, tasks }),
      await start.evaluate({ env: general, tasks }),
    ];
    made.measure({ success: called, hallucinated: callsIn(refused), general: other, seconds });
  });
}

function callsIn({ rollouts }: EvalReport): number {
  const calls = rollouts.filter(({ trajectories }) => trajectories[0].turns.some((turn) => turn.calls.length > 0));
  return calls.length / rollouts.length;
}

async function shown(
  env: Calling,
  { policy: speaker }: Pick<Beginning, "policy">,
  count: number,
): Promise<Trajectory[]> {
  const made: Trajectory[] = [];
  for (let index = 0; index < count; index++) {
    const task = await env.tasks.at("train", 1_000_000 + index);
    made.push(...(await demonstrate(env, task, speaker, { id: `${env.name}/${index}`, seed: index })).trajectories);
  }
  return made;
}
