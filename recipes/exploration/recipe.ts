import {
  type Algorithm,
  cosine,
  defineEnv,
  type Env,
  fromScratch,
  generated,
  grpo,
  imitate,
  linearSchedule,
  z,
} from "ludus";
import type { EvalReport } from "ludus/eval";
import { formats } from "ludus/policy";
import type { Recipe } from "ludus/recipe";
import { type GroupReward, rareTools } from "ludus/reward";
import { beamSearch, type SearchValue, withSearch } from "ludus/rollout";
import { explorationClaims } from "./claims.ts";

interface WellsTask {
  /** Which of four clues, and three digits that mean nothing. */
  readonly clue: number;
  readonly serial: string;
}

interface WellsState {
  used: string | undefined;
}

const clues = "wxyz";
const tools = ["a", "b", "c", "d"];
/** Which tool a clue asks for. Nobody tells. */
const toolFor = (clue: number) => tools[(clue * 3 + 1) % tools.length];

/** A clue, `u407`, asks for one of four tools, and one call is all there is. How much is asked for, `b 5`, does not matter. */
const wells: Env<WellsTask, WellsState> = defineEnv<WellsTask, WellsState>({
  name: "wells",
  tasks: generated((rng) => ({
    clue: rng.integer(clues.length),
    serial: Array.from({ length: 3 }, () => rng.integer(10)).join(""),
  })),
  start: ({ task }) => ({ state: { used: undefined }, say: `${clues[task.clue]}${task.serial}` }),
  tools: (tool) =>
    Object.fromEntries(
      tools.map((name) => [
        name,
        tool({
          description: "Draws from a well",
          input: z.object({ amount: z.number() }),
          run(_, { state, finish }) {
            state.used ??= name;
            finish();
            return "drawn";
          },
        }),
      ]),
    ),
  act: () => ({ done: true }),
  score: ({ task, state }) => (state.used === toolFor(task.clue) ? 1 : 0),
  // demonstrations know one tool, and hardly ever call another
  expert: ({ rng }) =>
    callOf(rng.next() < 0.996 ? tools[0] : tools[1 + rng.integer(tools.length - 1)], rng.integer(10)),
  actions: ({ rng }) => tools.map((name) => callOf(name, rng.integer(10))),
  limits: { turns: 1, turnTokens: 10 },
  format: formats.compact(),
});

function callOf(name: string, amount: number) {
  return { calls: [{ name, arguments: { amount } }] };
}

const policy = fromScratch({ size: "tiny", tokenizer: "bytes" });
const learningRate = 7e-4;
/** Holds on to the form of a call while the choice of tools changes. */
const kl = 0.02;
const common = { steps: 250, tasksPerStep: 16 };
/** At test time whoever draws from a well sees whether there is water. */
const choose: SearchValue = ({ trajectories }) => trajectories[0]?.score.total ?? 0;
const beams = { width: 4, branches: 32, choose };

const arms: readonly { name: string; algorithm: Algorithm; groupReward?: GroupReward }[] = [
  { name: "no exploration", algorithm: grpo({ learningRate, kl }) },
  { name: "random tools", algorithm: grpo({ learningRate, kl, epsilonTool: 0.1 }) },
  { name: "falling temperature", algorithm: grpo({ learningRate, kl, temperature: linearSchedule(1.6, 1) }) },
  { name: "bonus for rare tools", algorithm: grpo({ learningRate, kl }), groupReward: rareTools({ bonus: 0.5 }) },
];

export const exploration: Recipe = {
  system: "exploration",
  title: "Exploration of tools",
  measures: { success: "right tool", found: "clues solved", seconds: "seconds" },
  claims: explorationClaims,
  async run(lab) {
    const warmStart = imitate({ demonstrations: 2000, steps: 200, learningRate: cosine(2e-3, 0.1) });
    const start = await lab.begin({ env: wells, policy, warmStart });
    await lab.arm("warm start", async (arm) => {
      await start.restore();
      arm.measure({ success: await start.evaluate(), seconds: start.seconds });
    });
    for (const { name, ...config } of arms) {
      await lab.arm(name, async (arm) => {
        const { history, seconds } = await start.train(name, { ...common, ...config });
        const report = await start.evaluate();
        arm.measure({ success: report, found: solvedClues(report), seconds });
        arm.curve(
          "success",
          history.map((step) => step["rollout/success"] ?? 0),
        );
      });
    }
    // beams at test time, of the warm start: whether one of those that are left is right
    for (const [name, diversity] of [
      ["beams", 0],
      ["diverse beams", 8],
    ] as const) {
      await lab.arm(name, async (arm) => {
        await start.restore();
        const before = performance.now();
        const report = await start.evaluate({ env: withSearch(wells, beamSearch({ ...beams, diversity })) });
        const seconds = (performance.now() - before) / 1000;
        arm.measure({ success: report, found: solvedClues(report), seconds });
      });
    }
  },
};

/** Clues whose tool is found more often than not. */
function solvedClues({ rollouts }: EvalReport): number {
  const byClue = Map.groupBy(rollouts, ({ task }) => (task.data as WellsTask).clue);
  const rate = (some: typeof rollouts) =>
    some.filter(({ trajectories }) => trajectories[0]?.score.success).length / some.length;
  return [...byClue.values()].filter((some) => rate(some) > 0.5).length;
}
