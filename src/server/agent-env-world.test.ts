import OpenAI from "openai";
import { compact } from "../policy/formats/compact.ts";
import { worldContract } from "../rollout/world.contract.ts";
import { generated } from "../task/generated.ts";
import { agentEnv } from "./agent-env.ts";

/** An agent that asks twice, and reads its own first answer the second time. */
const clerk = agentEnv({
  name: "clerk",
  tasks: generated((rng) => `${rng.integer(100)}?`),
  format: compact(),
  limits: { turns: 4, turnTokens: 12 },
  async run(question, { url, signal }) {
    const client = new OpenAI({ baseURL: url, apiKey: "none", maxRetries: 0 });
    const messages: OpenAI.ChatCompletionMessageParam[] = [{ role: "user", content: question }];
    for (let i = 0; i < 2; i++) {
      const { choices } = await client.chat.completions.create({ model: "clerk", messages }, { signal });
      messages.push(
        { role: "assistant", content: choices[0].message.content ?? "" },
        { role: "user", content: "Sure?" },
      );
    }
    return String(messages.at(-2)?.content).length % 2;
  },
  expert: () => "yes",
  actions: () => ["no", "perhaps"],
});

worldContract("an agent", () => clerk);
