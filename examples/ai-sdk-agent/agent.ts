/** An ordinary agent on the AI SDK: it answers what is asked at the counter of a shop. It knows nothing of training. */
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { generateText, isStepCount, tool } from "ai";
import { z } from "zod";

export interface Shop {
  readonly price: Readonly<Record<string, string>>;
  readonly stock: Readonly<Record<string, string>>;
}

export async function agent(question: string, shop: Shop, baseURL: string): Promise<string> {
  const provider = createOpenAICompatible({ name: "counter", baseURL });
  const inputSchema = z.object({ item: z.string() });
  const { text } = await generateText({
    model: provider("clerk"),
    prompt: question,
    tools: {
      price: tool({ description: "What it costs", inputSchema, execute: ({ item }) => shop.price[item] ?? "none" }),
      stock: tool({ description: "How many are left", inputSchema, execute: ({ item }) => shop.stock[item] ?? "none" }),
    },
    stopWhen: isStepCount(3),
  });
  return text;
}
