import { z } from "zod";
import { LudusError } from "../../errors.ts";
import type { Message, ToolCall } from "../../schema/message.ts";
import type { ChatTurn } from "./chat-turn.ts";
import { JsonFormat, jsonAnswer } from "./json-answer.ts";
import { toolArguments } from "./openai-request.ts";

const Parts = z
  .union([z.string(), z.array(z.object({ type: z.enum(["input_text", "output_text", "text"]), text: z.string() }))])
  .transform((content) => (typeof content === "string" ? content : content.map(({ text }) => text).join("")));

const Item = z.union([
  z.object({
    type: z.literal("message").optional(),
    role: z.enum(["system", "developer", "user", "assistant"]),
    content: Parts,
  }),
  z.object({ type: z.literal("function_call"), call_id: z.string(), name: z.string(), arguments: z.string() }),
  z.object({ type: z.literal("function_call_output"), call_id: z.string(), output: Parts }),
  z.object({ type: z.literal("reasoning") }),
]);

const Tool = z.object({
  type: z.literal("function"),
  name: z.string(),
  description: z.string().nullish(),
  parameters: z.record(z.string(), z.unknown()).nullish(),
});

/** What of OpenAI's responses is understood. What is not is refused where it would change the answer, else ignored. */
export const ResponsesBody = z.object({
  model: z.string(),
  input: z.union([z.string(), z.array(Item).min(1)]),
  instructions: z.string().nullish(),
  tools: z.array(Tool).nullish(),
  tool_choice: z
    .union([z.enum(["auto", "none", "required"]), z.object({ type: z.literal("function"), name: z.string() })])
    .nullish(),
  parallel_tool_calls: z.boolean().nullish(),
  temperature: z.number().min(0).max(2).nullish(),
  top_p: z.number().gt(0).max(1).nullish(),
  max_output_tokens: z.int().min(1).nullish(),
  text: z.object({ format: JsonFormat.nullish() }).nullish(),
  previous_response_id: z.string().nullish(),
  stream: z.boolean().nullish(),
  metadata: z.record(z.string(), z.string()).nullish(),
});

export type ResponsesBody = z.infer<typeof ResponsesBody>;

export function turnOfResponses(body: ResponsesBody, seed: number): ChatTurn {
  if (body.previous_response_id != null) {
    throw new LudusError("bad-request", {
      got: `previous_response_id "${body.previous_response_id}"`,
      expected: "the whole conversation in `input`: responses are not stored",
      cause: "previous_response_id",
    });
  }
  const system: Message[] = body.instructions ? [{ role: "system", content: body.instructions }] : [];
  const items = typeof body.input === "string" ? [{ role: "user" as const, content: body.input }] : body.input;
  const choice = body.tool_choice ?? "auto";
  const tools = choice === "none" ? [] : (body.tools ?? []);
  return {
    messages: [...system, ...messagesOf(items)],
    tools: tools.map(({ name, description, parameters }) => {
      return { name, description: description ?? "", parameters: parameters ?? { type: "object", properties: {} } };
    }),
    oneCall: body.parallel_tool_calls === false,
    choice: typeof choice === "object" ? { name: choice.name } : choice === "none" ? "auto" : choice,
    json: jsonAnswer(body.text?.format),
    sampling: {
      temperature: body.temperature ?? 1,
      topP: body.top_p ?? undefined,
      seed,
      maxTokens: body.max_output_tokens ?? undefined,
      stop: [],
      alternatives: 0,
    },
  };
}

/** Items one after the other; what an assistant said and the calls it made with it are one message. */
function messagesOf(items: readonly z.infer<typeof Item>[]): Message[] {
  const names = new Map<string, string>();
  const messages: Message[] = [];
  for (const item of items) {
    if ("role" in item) {
      messages.push({ role: item.role === "developer" ? "system" : item.role, content: item.content });
    } else if (item.type === "function_call") {
      names.set(item.call_id, item.name);
      addCall(messages, { name: item.name, arguments: toolArguments(item.arguments) });
    } else if (item.type === "function_call_output") {
      messages.push({ role: "tool", content: item.output, name: names.get(item.call_id) ?? "tool" });
    }
  }
  return messages;
}

function addCall(messages: Message[], call: ToolCall): void {
  const last = messages.at(-1);
  if (last?.role !== "assistant") messages.push({ role: "assistant", content: "", calls: [call] });
  else messages[messages.length - 1] = { ...last, calls: [...(last.calls ?? []), call] };
}
