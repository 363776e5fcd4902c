/**
 * An agent of another language is trained as it is, over HTTP: agent.py speaks OpenAI's protocol with nothing but Python's own
 * library. Each attempt has a base URL of its own, under which every call is recorded with its tokens, and an address to which
 * worker.py posts the reward. What is measured is success in worlds it has never been in.
 *
 *     npx node examples/python-agent/main.ts        # two to three minutes on two cores; exits with 1 if it does not learn
 */
import { spawn } from "node:child_process";
import { fileURLToPath } from "node:url";
import { consoleMonitor, cosine, formats, fromScratch, generated, grpo, imitate, train } from "../../src/index.ts";
import { agentEnv } from "../../src/server/index.ts";

const names = ["Ann", "Bob", "Cy", "Dee", "Eve", "Flo"];
const cities = ["Ulm", "Oslo", "Rome", "Bern", "Kyiv", "Nice"];

const script = fileURLToPath(new URL("worker.py", import.meta.url));
const worker = spawn(process.env.LUDUS_PYTHON ?? "python3", [script], { stdio: ["pipe", "inherit", "inherit"] });
const stop = new AbortController();
worker.once("error", () => stop.abort());
worker.once("exit", () => stop.abort());

const tasks = generated((rng) => {
  const draw = (from: readonly string[]) => from[rng.integer(from.length)];
  const city = Object.fromEntries(names.map((name) => [name, draw(cities)]));
  const heat = Object.fromEntries(cities.map((name) => [name, `${1 + rng.integer(9)}`]));
  const who = draw(names);
  return { who, world: { city, heat }, answer: heat[city[who]] };
});

const env = agentEnv({
  name: "travel",
  tasks,
  model: "guide",
  format: formats.compact(),
  limits: { turns: 4, turnTokens: 16, episodeMs: 120_000 },
  serve: {},
  // returns nothing: the reward is posted
  run({ who, world, answer }, { url, rewardUrl }) {
    worker.stdin.write(`${JSON.stringify({ question: `How warm at ${who}'s?`, world, answer, url, rewardUrl })}\n`);
    return undefined;
  },

  // only for the first steps: a guide who knows the way, but says something at random in nearly half of all turns
  expert({ task: { who, world, answer }, messages }) {
    const told = messages.filter(({ role }) => role === "tool").map(({ content }) => content);
    if (!told.includes(world.city[who])) return { calls: [{ name: "city", arguments: { name: who } }] };
    if (!told.includes(answer)) return { calls: [{ name: "heat", arguments: { name: world.city[who] } }] };
    return { answer };
  },
  actions({ task: { who }, messages }) {
    const told = messages.filter(({ role }) => role === "tool").map(({ content }) => content);
    const known = [...new Set([who, ...told])];
    const calls = known.flatMap((name) =>
      ["city", "heat"].map((tool) => ({ calls: [{ name: tool, arguments: { name } }] })),
    );
    return [...calls, ...known.map((answer) => ({ answer }))];
  },
});

const { before, after, seconds, policy } = await train({
  env,
  policy: fromScratch({ size: "tiny", tokenizer: "bytes" }),
  warmStart: imitate({ demonstrations: 1500, noise: 0.45, steps: 400, learningRate: cosine(3e-3, 0.1) }),
  algorithm: grpo({ groupSize: 8, learningRate: cosine(8e-4, 0.1) }),
  steps: 90,
  earlyStop: { success: 0.97, window: 3 },
  monitors: [consoleMonitor({ stream: process.stdout })],
  signal: stop.signal,
});
worker.stdin.end();
await policy.engine.close();
if (before === undefined || after === undefined) throw new Error("python-agent: the worker has ended");
console.log(`${before.success.mean.toFixed(2)} → ${after.success.mean.toFixed(2)} in ${seconds.toFixed(0)} s`);
if (after.success.low < before.success.high + 0.1) {
  console.error("python-agent: expected success in new worlds to rise by 0.1 or more");
  process.exit(1);
}
