import { project } from "./first-hour.ts";
import type { Part } from "./part.ts";

const agent = `import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { generateText, isStepCount, tool } from "ai";
import { z } from "zod";

export async function agent(question: string, prices: Record<string, string>, baseURL: string): Promise<string> {
  const provider = createOpenAICompatible({ name: "shop", baseURL });
  const price = tool({
    description: "What an item costs",
    inputSchema: z.object({ item: z.string() }),
    execute: ({ item }) => prices[item] ?? "none",
  });
  const model = provider("gpt-5-mini");
  const { text } = await generateText({ model, prompt: question, tools: { price }, stopWhen: isStepCount(3) });
  return text;
}
`;

const training = `import { formats, fromScratch, generated, grpo, imitate, type TrainConfig } from "ludus";
import { agentEnv } from "ludus/server";
import { agent } from "./shop-agent.ts";

const items = ["tea", "rum", "jam", "egg"];

export const env = agentEnv({
  name: "shop",
  description: "Say what an item costs",
  tasks: generated((rng) => ({
    item: items[rng.integer(4)]!,
    prices: Object.fromEntries(items.map((item) => [item, \`\${1 + rng.integer(9)}\`])),
  })),
  model: "clerk",
  format: formats.compact(),
  limits: { turns: 3, turnTokens: 16 },
  run: async ({ item, prices }, { url }) => ((await agent(\`What is \${item}?\`, prices, url)) === prices[item] ? 1 : 0),
  expert({ task: { item, prices }, messages }) {
    const isKnown = messages.some(({ role }) => role === "tool");
    return isKnown ? { answer: prices[item]! } : { calls: [{ name: "price", arguments: { item } }] };
  },
});

export const config: TrainConfig = {
  env,
  policy: fromScratch({ size: "tiny" }),
  warmStart: imitate({ demonstrations: 200, steps: 60 }),
  algorithm: grpo({ groupSize: 8, learningRate: 2e-4 }),
  tasksPerStep: 8,
  steps: 5,
  eval: { tasks: 100 },
};
`;

export const aiSdkAgent: Part = {
  name: "ai-sdk",
  title: "An agent of the AI SDK",
  needs: [project],
  async run(user) {
    user.clears("my-agent/runs/shop-1");
    const install = "npm install ai@7 @ai-sdk/openai-compatible zod";
    await user.does([{ in: "my-agent", say: install, lines: 3, expect: [/packages in/] }]);
    user.writes("my-agent/shop-agent.ts", agent);
    user.writes("my-agent/shop.ts", training);
    await user.does([
      {
        in: "my-agent",
        say: "npx ludus env check ./shop.ts",
        status: 1,
        expect: [
          /^error agent-unknown-model: .*"gpt-5-mini".*"clerk"/m,
          /agentEnv\(\{ model: … \}\)/,
          /shop breaks 1 of its promises/,
        ],
      },
      { in: "my-agent", say: "sed -i 's/gpt-5-mini/clerk/' shop-agent.ts" },
      { in: "my-agent", say: "npx ludus env check ./shop.ts", expect: [/^shop keeps its promises/m] },
      { in: "my-agent", say: "npm run types", quiet: true },
      {
        in: "my-agent",
        say: "npx ludus train shop.ts",
        lines: 20,
        expect: [/^ended: finished$/m, /^success \(95 %\)/m, /kept in runs\/shop-1$/m],
      },
      {
        in: "my-agent",
        say: "npx ludus replay runs/shop-1 best",
        lines: 16,
        expect: [/^> price (tea|rum|jam|egg)$/m, /^score 1, success$/m],
      },
    ]);
    user.notes(
      "Five steps show that it trains. [examples/ai-sdk-agent](../../examples/ai-sdk-agent/main.ts) goes on until such an agent has learned.",
    );
  },
};
