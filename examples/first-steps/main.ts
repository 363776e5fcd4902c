/**
 * The engine in one page: a transformer is made from nothing, imitates demonstrations half of which are wrong, and then
 * learns from its own experience which answers are right. No Python, no download, no result prepared in advance.
 *
 *     npm start                     # about a minute on two cores
 *     npm start -- --seed 7 --json  # the last line is one JSON object
 */
import { parseArgs } from "node:util";
import { byteTokenizer, createRng, type Engine, embedded, models, type Rng, type Sample } from "../../src/index.ts";
import { bar, interval, sparkline } from "./view.ts";

const { values: options } = parseArgs({
  options: {
    seed: { type: "string", default: "0" },
    json: { type: "boolean", default: false },
    help: { type: "boolean", default: false },
  },
});
if (options.help) {
  console.log("Trains a small transformer to sort letters, from scratch.\n\nExample: npm start -- --seed 7 --json");
  process.exit(0);
}

const tokenizer = byteTokenizer();
const endOfTurn = tokenizer.specialTokens.eos!.id;
const rng = createRng(Number(options.seed));
const engine = await embedded({
  model: models.tiny({ vocabularySize: tokenizer.vocabularySize, contextLength: 64 }),
  tokenizer,
  seed: rng.integer(2 ** 31),
});
process.once("SIGINT", () => void engine.close().then(() => process.exit(130)));

// ---- the task: five letters in, the same letters in order out

const letters = "abcdefgh";
const question = (source: Rng) => Array.from({ length: 5 }, () => letters[source.integer(letters.length)]).join("");
const solution = (letters5: string) => [...letters5].sort().join("");
const prompt = (letters5: string) => [...tokenizer.encode(`${letters5}=`)];
const isRight = (letters5: string, sample: Sample) => tokenizer.decode(sample.tokens) === solution(letters5);
const answer = (letters5: string, seed: number) =>
  engine.sample({ tokens: prompt(letters5), maxTokens: 8, stopTokens: [endOfTurn], seed });

// ---- one step of each kind: everything is per-token derivatives

async function imitate(target: Engine, count: number): Promise<number> {
  const rows = Array.from({ length: count }, () => {
    const asked = question(rng);
    const shown = rng.next() < 0.5 ? solution(asked) : [...solution(asked)].sort(() => rng.next() - 0.5).join("");
    const start = prompt(asked);
    const tokens = [...start, ...tokenizer.encode(shown), endOfTurn];
    return { tokens, mask: tokens.map((_, t) => (t >= start.length ? 1 : 0)) };
  });
  const total = rows.reduce((sum, { mask }) => sum + mask.reduce((a: number, b) => a + b, 0), 0);
  const forward = await target.forward({ rows });
  await target.backward(forward, { logprobs_B_T: rows.map(({ mask }) => Float32Array.from(mask, (m) => -m / total)) });
  await target.step({ learningRate: 2e-3, maxGradientNorm: 1 });
  return -forward.logprobs_B_T.reduce((sum, row) => row.reduce((a, b) => a + b, sum), 0) / total;
}

/** Groups of answers to the same question; each answer counts as much as it is better than its group (Dr. GRPO). */
async function learn(target: Engine, questions: number, groupSize: number): Promise<number> {
  const asked = Array.from({ length: questions }, () => question(rng)).flatMap((text) =>
    new Array<string>(groupSize).fill(text),
  );
  const samples = await Promise.all(asked.map((text) => answer(text, rng.integer(2 ** 31))));
  const rewards = samples.map((sample, i) => (isRight(asked[i], sample) ? 1 : 0));
  const advantages = rewards.map((reward, i) => {
    const group = rewards.slice(i - (i % groupSize), i - (i % groupSize) + groupSize);
    return reward - group.reduce((a: number, b) => a + b, 0) / groupSize;
  });
  const mean = rewards.reduce((a: number, b) => a + b, 0) / rewards.length;
  if (advantages.every((advantage) => advantage === 0)) return mean;
  const rows = samples.map((sample, i) => ({ tokens: [...prompt(asked[i]), ...sample.tokens] }));
  const offset = prompt(asked[0]).length;
  const spread = (sample: Sample, value: (t: number) => number) =>
    Float32Array.from({ length: offset + sample.tokens.length }, (_, t) => (t < offset ? 0 : value(t - offset)));
  const sampled = {
    logprobs_B_T: samples.map((sample) => spread(sample, (t) => sample.logprobs[t])),
    policyVersion: target.info.policyVersion,
  };
  const scale = samples.reduce((sum, { tokens }) => sum + tokens.length, 0);
  const forward = await target.forward({ rows }, { sampled });
  await target.backward(forward, {
    logprobs_B_T: samples.map((sample, i) => spread(sample, () => -advantages[i] / scale)),
  });
  await target.step({ learningRate: 1e-3, maxGradientNorm: 1 });
  return mean;
}

async function evaluate(count: number): Promise<number> {
  const held = createRng(987_654_321); // questions and draws that training never sees
  const asked = Array.from({ length: count }, () => question(held));
  const samples = await Promise.all(asked.map((text) => answer(text, held.integer(2 ** 31))));
  return samples.filter((sample, i) => isRight(asked[i], sample)).length / count;
}

// ---- the run

const started = performance.now();
const seconds = () => (performance.now() - started) / 1000;
const tests = 500;
console.log(
  `${engine.info.parameters.toLocaleString("en")} parameters on ${engine.info.device}; task: sort five letters`,
);
for (let step = 0; step < 300; step++) {
  const loss = await imitate(engine, 64);
  bar("imitating demonstrations, half of them wrong", step + 1, 300, `loss ${loss.toFixed(3)}`);
}
const before = await evaluate(tests);
const history: number[] = [];
for (let step = 0; step < 60; step++) {
  history.push(await learn(engine, 32, 8));
  bar(
    "learning from its own answers             ",
    step + 1,
    60,
    `right ${history.at(-1)!.toFixed(2)} ${sparkline(history)}`,
  );
}
const after = await evaluate(tests);

const examples = ["hgfed", "badge", "cabfa"];
const shown = await Promise.all(examples.map((text) => answer(text, 1)));
console.log("\nquestion  answer");
examples.forEach((text, i) =>
  console.log(`${text}     ${tokenizer.decode(shown[i].tokens)}${isRight(text, shown[i]) ? "" : "   (wrong)"}`),
);
console.log(
  `\nright answers to ${tests} unseen questions: ${interval(before, tests)} after imitation, ${interval(after, tests)} after learning, ${seconds().toFixed(0)} s`,
);
console.log("Next: examples/first-steps/main.ts is the whole program; src/engine/engine.ts is the contract it uses.");
if (options.json)
  console.log(JSON.stringify({ before, after, seconds: Number(seconds().toFixed(1)), seed: Number(options.seed) }));
await engine.close();
if (after < before + 0.2) {
  console.error(`first-steps: expected to improve by 0.2 or more, got ${before} → ${after}`);
  process.exit(1);
}
