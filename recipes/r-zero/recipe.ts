import { cosine, fromScratch, grpo, imitate, listed, type Task } from "ludus";
import { readQuestion, type SumsTask, sumQuestions, sums } from "ludus/environments";
import { majority, type SelfLabel, selfLabels } from "ludus/guide";
import type { Arm, Beginning, Recipe } from "ludus/recipe";
import { type GroupReward, repetitionShares, rZeroChallenger } from "ludus/reward";
import { runRollout } from "ludus/rollout";
import { rZeroClaims } from "./claims.ts";

/** Of a question. There are 200 of two digits, which so small a model learns in a few hundred steps. */
const terms = 2;
const solving = sums({ terms });
const algorithm = {
  challenger: grpo({ groupSize: 16, learningRate: 1e-3 }),
  solver: grpo({ groupSize: 8, learningRate: 5e-4 }),
};
/** As published, in fewer and smaller steps. */
const rounds = 3;
const challengerSteps = 5;
const solverSteps = 15;
const asked = 400;
const samples = 9;

interface Method {
  readonly name: string;
  readonly isChallengerTrained: boolean;
  readonly isPenalized: boolean;
  readonly keep: readonly [number, number];
}

const whole = { isChallengerTrained: true, isPenalized: true, keep: [0.3, 0.8] } as const;
const methods: readonly Method[] = [
  { name: "R-Zero", ...whole },
  { name: "untrained challenger", ...whole, isChallengerTrained: false },
  { name: "without filter", ...whole, keep: [0, 1] },
  { name: "without penalty", ...whole, isPenalized: false },
];

export const rZero: Recipe = {
  system: "r-zero",
  title: "R-Zero",
  measures: {
    success: "right",
    labels: "own labels right",
    kept: "questions kept",
    different: "different questions",
    seconds: "seconds",
  },
  claims: rZeroClaims,
  async run(lab) {
    const policy = fromScratch({ size: "tiny", tokenizer: "bytes" });
    // a solver that has seen sums and is careless, and a challenger that asks for any sum
    const careless = imitate({ demonstrations: 4000, noise: 0.4, steps: 800, learningRate: cosine(2e-3, 0.1) });
    const solver = await lab.begin({ env: solving, policy, warmStart: careless });
    const asking = sumQuestions({ terms, worth: (question, signal) => worthOf(solver, question, signal) });
    const anySum = imitate({ demonstrations: 1000, steps: 150, learningRate: 2e-3 });
    const challenger = await lab.begin({ env: asking, policy, warmStart: anySum });
    await lab.arm("base", async (arm) => {
      await solver.restore();
      arm.measure({ success: await solver.evaluate(), seconds: solver.seconds + challenger.seconds });
    });
    for (const method of methods) {
      await lab.arm(method.name, (arm) => play(arm, method, { solver, challenger, seed: lab.seed }));
    }
  },
};

interface Players {
  readonly solver: Beginning<SumsTask, undefined>;
  readonly challenger: Beginning<null, undefined>;
  readonly seed: number;
}

async function play(arm: Arm, method: Method, players: Players): Promise<void> {
  const { solver, challenger, seed } = players;
  await Promise.all([solver.restore(), challenger.restore()]);
  const started = performance.now();
  const labels: number[] = [];
  for (let round = 0; round < rounds; round++) {
    const name = `${method.name}, round ${round + 1}`;
    if (method.isChallengerTrained) {
      await challenger.trainOn(`${name}, challenger`, {
        algorithm: algorithm.challenger,
        steps: challengerSteps,
        tasksPerStep: 4,
        ...(method.isPenalized ? { groupReward: penalty } : {}),
      });
    }
    const questions = await ask(challenger, seed * rounds + round);
    const labelled = await selfLabels(questions, {
      world: solving,
      policy: solver.policy,
      samples,
      keep: method.keep,
      seed,
    });
    const kept = labelled.filter(({ isKept }) => isKept);
    // a round that keeps nothing has no labels that could be right
    if (kept.length > 0) labels.push(shareRight(kept));
    arm.measure({ kept: kept.length / asked, different: new Set(questions.map(({ id }) => id)).size / asked });
    if (kept.length === 0) continue;
    const train = kept.map(({ task, label }): SumsTask => ({ ...task.data, label: label! }));
    const env = { ...solving, tasks: listed({ train, test: train }, { name: `questions-${round}` }) };
    await solver.trainOn(`${name}, solver`, { env, algorithm: algorithm.solver, steps: solverSteps, tasksPerStep: 16 });
  }
  arm.measure({
    success: await solver.evaluate(),
    ...(labels.length === 0 ? {} : { labels: labels.at(-1)! }),
    seconds: (performance.now() - started) / 1000,
  });
  arm.curve("own labels right, by round", labels);
  if (method.name !== methods[0].name || labels.length === 0) return;
  arm.also("labels of the first round", { labels: labels[0] });
  arm.also("labels of the last round", { labels: labels.at(-1)! });
}

/** min(p, 1 - p) of the solver's most frequent answer. */
async function worthOf({ policy }: Players["solver"], question: string, signal: AbortSignal): Promise<number> {
  const task: Task<SumsTask> = { id: question, seed: 0, data: { question } };
  const attempts = Array.from({ length: samples }, (_, i) =>
    runRollout(solving, task, policy, { id: `worth/${question}/${i}`, seed: i, signal }),
  );
  const answers = (await Promise.all(attempts)).map(({ trajectories }) => trajectories[0]?.turns[0]?.text.trim());
  return rZeroChallenger(majority(answers).share);
}

/** The share of a group's questions that are like one's own is taken off; R-Zero compares the questions of a batch. */
const penalty: GroupReward = ({ attempts }) => {
  const shares = repetitionShares(
    attempts.map(({ turns }) => turns[0]?.text ?? ""),
    (text) => [...text],
  );
  return shares.map((share) => ({ parts: { repetition: -share } }));
};

async function ask({ policy }: Players["challenger"], seed: number): Promise<Task<SumsTask>[]> {
  const env = sumQuestions({ terms, worth: () => 0 });
  const task = await env.tasks.at("train", 0);
  const attempts = Array.from({ length: asked }, (_, i) =>
    runRollout(env, task, policy, { id: `ask/${seed}/${i}`, seed: seed * asked + i }),
  );
  const said = (await Promise.all(attempts)).map(({ trajectories }) => trajectories[0]?.turns[0]?.text ?? "");
  const questions = said.map((text) => readQuestion(text, terms)).filter((question) => question !== undefined);
  return questions.map((question) => ({ id: question, seed: 0, data: { question } }));
}

/** Of labels that are learned from. The value is known here, and nobody is told. */
function shareRight(kept: readonly SelfLabel<SumsTask>[]): number {
  const isRight = ({ task, label }: SelfLabel<SumsTask>) => {
    const [first, ...rest] = task.data.question.match(/[+-]?\d/g)!.map(Number);
    return String(rest.reduce((sum, value) => sum + value, first)) === label;
  };
  return kept.filter(isRight).length / kept.length;
}
