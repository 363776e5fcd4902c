/**
 * An agent that exists already is trained as it is: agent.ts uses the AI SDK and nothing of Ludus. `agentEnv` answers its calls
 * from a small transformer made from nothing, in this process, and keeps every token; the score of each attempt is all that is
 * added. What is measured is success in shops whose prices and stocks it has never seen.
 *
 *     npx node examples/ai-sdk-agent/main.ts        # two to three minutes on two cores; exits with 1 if it does not learn
 */
import { consoleMonitor, cosine, formats, fromScratch, generated, grpo, imitate, train } from "../../src/index.ts";
import { agentEnv } from "../../src/server/index.ts";
import { agent, type Shop } from "./agent.ts";

const items = ["tea", "rum", "jam", "egg", "soap", "rice", "milk", "corn"];
const columns = ["price", "stock"] as const;

const tasks = generated((rng) => {
  const draw = () => Object.fromEntries(items.map((item) => [item, `${1 + rng.integer(9)}`]));
  const shop: Shop = { price: draw(), stock: draw() };
  return { shop, item: items[rng.integer(items.length)], column: columns[rng.integer(2)] };
});

const env = agentEnv({
  name: "shop",
  tasks,
  model: "clerk",
  format: formats.compact(),
  limits: { turns: 3, turnTokens: 16 },
  async run({ shop, item, column }, { url }) {
    const said = await agent(column === "price" ? `What is ${item}?` : `How many ${item}?`, shop, url);
    return said === shop[column][item] ? 1 : 0;
  },

  // only for the first steps: a clerk who knows the way, but says something at random in nearly half of all turns
  expert({ task: { item, column, shop }, messages }) {
    const isKnown = messages.some(({ role, content }) => role === "tool" && content === shop[column][item]);
    return isKnown ? { answer: shop[column][item] } : { calls: [{ name: column, arguments: { item } }] };
  },
  actions: ({ rng }) => [
    ...columns.flatMap((name) => items.map((item) => ({ calls: [{ name, arguments: { item } }] }))),
    ...items.map(() => ({ answer: `${1 + rng.integer(9)}` })),
  ],
});

const { before, after, seconds, policy } = await train({
  env,
  policy: fromScratch({ size: "tiny", tokenizer: "bytes" }),
  warmStart: imitate({ demonstrations: 1500, noise: 0.45, steps: 400, learningRate: cosine(3e-3, 0.1) }),
  algorithm: grpo({ groupSize: 8, learningRate: cosine(8e-4, 0.1) }),
  steps: 90,
  earlyStop: { success: 0.97, window: 3 },
  monitors: [consoleMonitor({ stream: process.stdout })],
});
await policy.engine.close();
console.log(`${before!.success.mean.toFixed(2)} → ${after!.success.mean.toFixed(2)} in ${seconds.toFixed(0)} s`);
if (after!.success.low < before!.success.high + 0.1) {
  console.error("ai-sdk-agent: expected success in new shops to rise by 0.1 or more");
  process.exit(1);
}
