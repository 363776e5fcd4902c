import { z } from "zod";
import { parseBoundedJson } from "../../bounded-json.ts";
import { defined } from "../../defined.ts";
import type { Message, ToolSpec } from "../../schema/message.ts";
import { isJsonObject } from "../../schema/parse-with.ts";
import type { ChatTurn } from "./chat-turn.ts";
import { JsonFormat, jsonAnswer } from "./json-answer.ts";

const Content = z
  .union([z.string(), z.array(z.object({ type: z.literal("text"), text: z.string() })), z.null()])
  .optional()
  .transform((content) => (typeof content === "string" ? content : (content ?? []).map(({ text }) => text).join("")));

const Call = z.object({ id: z.string(), function: z.object({ name: z.string(), arguments: z.string() }) });

const ChatMessage = z.discriminatedUnion("role", [
  z.object({ role: z.enum(["system", "developer", "user"]), content: Content }),
  z.object({ role: z.literal("assistant"), content: Content, tool_calls: z.array(Call).nullish() }),
  z.object({ role: z.literal("tool"), content: Content, tool_call_id: z.string() }),
]);

const Tool = z.object({
  type: z.literal("function"),
  function: z.object({
    name: z.string(),
    description: z.string().default(""),
    parameters: z.record(z.string(), z.unknown()).default({ type: "object", properties: {} }),
  }),
});

/** Chat completions have name and schema one level deeper than responses. */
function flatSchema(format: unknown): unknown {
  return isJsonObject(format) && isJsonObject(format.json_schema) ? { ...format, ...format.json_schema } : format;
}

/** What of OpenAI's chat completions is understood. What is not is refused where it would change the answer, else ignored. */
export const ChatCompletionBody = z.object({
  model: z.string(),
  messages: z.array(ChatMessage).min(1),
  tools: z.array(Tool).nullish(),
  tool_choice: z
    .union([
      z.enum(["auto", "none", "required"]),
      z.object({ type: z.literal("function"), function: z.object({ name: z.string() }) }),
    ])
    .nullish(),
  parallel_tool_calls: z.boolean().nullish(),
  temperature: z.number().min(0).max(2).nullish(),
  top_p: z.number().gt(0).max(1).nullish(),
  max_tokens: z.int().min(1).nullish(),
  max_completion_tokens: z.int().min(1).nullish(),
  stop: z.union([z.string(), z.array(z.string()).max(16)]).nullish(),
  n: z.int().min(1).max(128).nullish(),
  seed: z.int().nullish(),
  stream: z.boolean().nullish(),
  stream_options: z.object({ include_usage: z.boolean().nullish() }).nullish(),
  logprobs: z.boolean().nullish(),
  top_logprobs: z.int().min(0).max(20).nullish(),
  response_format: z.preprocess(flatSchema, JsonFormat).nullish(),
});

export type ChatCompletionBody = z.infer<typeof ChatCompletionBody>;

export function turnOfOpenAi(body: ChatCompletionBody, seed: number): ChatTurn {
  const names = new Map<string, string>();
  const messages = body.messages.map((message): Message => {
    switch (message.role) {
      case "assistant": {
        const calls = message.tool_calls ?? [];
        for (const { id, function: called } of calls) names.set(id, called.name);
        const made = calls.map(({ function: { name, arguments: text } }) => ({ name, arguments: toolArguments(text) }));
        return {
          role: "assistant",
          content: message.content,
          ...defined({ calls: made.length === 0 ? undefined : made }),
        };
      }
      case "tool":
        return { role: "tool", content: message.content, name: names.get(message.tool_call_id) ?? "tool" };
      case "developer":
        return { role: "system", content: message.content };
      default:
        return { role: message.role, content: message.content };
    }
  });
  const tools = body.tool_choice === "none" ? [] : (body.tools ?? []).map(({ function: tool }): ToolSpec => tool);
  const choice = body.tool_choice ?? "auto";
  return {
    messages,
    tools,
    oneCall: body.parallel_tool_calls === false,
    json: jsonAnswer(body.response_format),
    choice: typeof choice === "object" ? choice.function : choice === "none" ? "auto" : choice,
    sampling: {
      temperature: body.temperature ?? 1,
      topP: body.top_p ?? undefined,
      seed: body.seed ?? seed,
      maxTokens: body.max_completion_tokens ?? body.max_tokens ?? undefined,
      stop: typeof body.stop === "string" ? [body.stop] : (body.stop ?? []).filter((text) => text !== ""),
      alternatives: body.logprobs ? (body.top_logprobs ?? 0) : 0,
    },
  };
}

/** A client may send back anything as a call's arguments; what is no object is kept under one name. */
export function toolArguments(text: string): Record<string, unknown> {
  try {
    const value: unknown = parseBoundedJson(text);
    if (typeof value === "object" && value !== null && !Array.isArray(value)) return { ...value };
    return { value };
  } catch {
    return { value: text };
  }
}
