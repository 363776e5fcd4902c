import { cosine, fromScratch, imitate } from "ludus";
import { frozenLake } from "ludus/environments";
import type { Recipe } from "ludus/recipe";
import { mcts, withSearch } from "ludus/rollout";
import type { Trajectory } from "ludus/schema";
import { distilSearch, rejectionTuning } from "ludus/train";
import { searchClaims } from "./claims.ts";

// firm ice: what a copy shows is what happens
const env = frozenLake({ isSlippery: false, actionsPerTurn: 1, turns: 10 });
const policy = fromScratch({ size: "tiny", tokenizer: "bytes", valueHead: true });
const search = mcts({ simulations: 10, actions: 4, exploration: 0.3 });
const searching = withSearch(env, search);
const tasks = 100;
const steps = 7;
const tasksPerStep = 32;
const learningRate = 1e-3;
/** Turns that a searched attempt samples for each turn of a plain one, about: rejection tuning gets as many attempts. */
const attemptsPerSearch = 40;

const isSolved = ({ score }: Trajectory) => score.success;

export const searchRecipe: Recipe = {
  system: "search",
  title: "Tree search, at test time and learned from",
  measures: { success: "solved", turns: "turns", seconds: "seconds" },
  claims: searchClaims,
  async run(lab) {
    const warmStart = imitate({ demonstrations: 1000, noise: 0.6, steps: 60, learningRate: cosine(2e-3, 0.1) });
    const start = await lab.begin({ env, policy, warmStart });
    await lab.arm("policy", async (arm) => {
      await start.restore();
      const report = await start.evaluate({ tasks });
      arm.measure({ success: report, turns: report.turns, seconds: start.seconds });
    });
    await lab.arm("MCTS at test time", async (arm) => {
      await start.restore();
      const before = performance.now();
      const report = await start.evaluate({ tasks, env: searching });
      arm.measure({ success: report, turns: report.turns, seconds: (performance.now() - before) / 1000 });
    });
    await lab.arm("distilled from MCTS", async (arm) => {
      const algorithm = distilSearch({ learningRate, epochs: 8, visitTemperature: 0.3, filter: isSolved });
      const { seconds } = await start.train("distilled from MCTS", { env: searching, algorithm, steps, tasksPerStep });
      const report = await start.evaluate({ tasks });
      arm.measure({ success: report, turns: report.turns, seconds });
      const again = await start.evaluate({ tasks, env: searching });
      arm.also("distilled, MCTS at test time", { success: again, turns: again.turns });
    });
    await lab.arm("rejection tuning, as many turns", async (arm) => {
      const algorithm = rejectionTuning({ learningRate, groupSize: attemptsPerSearch });
      const { seconds } = await start.train("rejection tuning", { algorithm, steps, tasksPerStep });
      const report = await start.evaluate({ tasks });
      arm.measure({ success: report, turns: report.turns, seconds });
    });
  },
};
