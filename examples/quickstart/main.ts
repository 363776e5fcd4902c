/**
 * The whole of Ludus in one program: an agent that must look things up before it can answer. A transformer is made from
 * nothing, imitates demonstrations in which nearly half of all turns are random, and then learns from its own attempts which
 * searches and answers are right. What is measured is success on questions it has never been trained on.
 *
 *     npm start                     # about a minute on two cores
 *     npm start -- --seed 7 --json  # the last line is one JSON object
 */
import { parseArgs } from "node:util";
import { searchQa } from "../../src/env/environments/search-qa.ts";
import { consoleMonitor, cosine, grpo, imitate, succeeded, train } from "../../src/index.ts";
import { quickstartPolicy } from "./policy.ts";
import { episodeText, table } from "./report.ts";

const { values: options } = parseArgs({
  options: {
    seed: { type: "string", default: "0" },
    json: { type: "boolean", default: false },
    run: { type: "string" },
    engine: { type: "string", default: "embedded" },
    url: { type: "string" },
    model: { type: "string" },
    steps: { type: "string", default: "130" },
    help: { type: "boolean", default: false },
  },
});
if (options.help) {
  console.log(`Trains a search agent from scratch and prints how well it did before and after.

  --seed <n>    another beginning: weights, demonstrations and chance (0)
  --engine <e>  embedded, or torch: the same program on PyTorch, which needs Python (scripts/setup-python.sh);
                or tinker: an adapter on a model that a server of the Tinker protocol has (docs/how-to/tinker.md)
  --url <u>     that server
  --model <dir> the folder that it was started on: its tokenizer is needed here too
  --steps <n>   steps of reinforcement learning at most (130)
  --run <dir>   keep metrics, episodes and checkpoints there; the same command resumes the run
  --json        one JSON object on the last line

Example: npm start -- --seed 7 --json`);
  process.exit(0);
}
const seed = Number(options.seed);
const steps = Number(options.steps);
for (const [name, value] of Object.entries({ seed, steps })) {
  if (Number.isInteger(value) && value >= 0) continue;
  console.error(
    `--${name} ${options[name as "seed"]}: expected a whole number from 0. For example: npm start -- --${name} 7`,
  );
  process.exit(2);
}

// Ctrl-C once ends the run after the step in progress, twice at once
const stop = new AbortController();
process.on("SIGINT", () => (stop.signal.aborted ? process.exit(130) : stop.abort()));

// "Zoz owner boss?" asks for the boss of the owner of Zoz; `search Zoz owner` finds "Zoz owner Del"
const env = searchQa({ entities: 40, maxHops: 2 });

const demonstrated = {
  demonstrations: 4000,
  noise: 0.45,
  filter: succeeded,
  steps: 800,
  batchSize: 32,
  learningRate: cosine(3e-3, 0.1),
};
const result = await train({
  env,
  seed,
  policy: quickstartPolicy(options),
  // nearly half of all turns are random; demonstrations that missed the answer all the same are left out
  ...(options.engine === "tinker" ? {} : { warmStart: imitate(demonstrated) }),
  algorithm: grpo({ groupSize: 8, learningRate: cosine(8e-4, 0.1) }),
  tasksPerStep: 32,
  steps,
  earlyStop: { success: 0.97, window: 5 },
  eval: { tasks: 500 },
  monitors: [consoleMonitor({ stream: process.stdout })],
  signal: stop.signal,
  ...(options.run === undefined ? {} : { run: options.run }),
});

const { before, after, seconds } = result;
if (before !== undefined && after !== undefined) {
  console.log(`\n${table(before, after)}\n`);
  const shown = before.rollouts.findIndex((rollout, i) => isSolved(after.rollouts[i]) && !isSolved(rollout));
  console.log(`before ${episodeText(before.rollouts[Math.max(0, shown)])}\n`);
  console.log(`after  ${episodeText(after.rollouts[Math.max(0, shown)])}\n`);
  console.log("Next: npx ludus play search-qa (answer some yourself), npx ludus env list (other worlds),");
  console.log(
    "      examples/quickstart/main.ts (this program), examples/own-algorithm (a loss of your own in 20 lines).",
  );
  if (options.json) {
    const round = (value: number) => Math.round(value * 1000) / 1000;
    console.log(
      JSON.stringify({
        before: round(before.success.mean),
        after: round(after.success.mean),
        seconds: round(seconds),
        seed,
      }),
    );
  }
}
await result.policy.engine.close();
process.exitCode = result.reason === "stopped" ? 130 : 0;

function isSolved(rollout: (typeof result & { after: object })["after"]["rollouts"][number] | undefined): boolean {
  return rollout?.trajectories[0]?.score.success ?? false;
}
