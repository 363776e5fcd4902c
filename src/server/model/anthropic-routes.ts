import { Hono } from "hono";
import { streamSSE } from "hono/streaming";
import { z } from "zod";
import type { Message, ToolSpec } from "../../schema/message.ts";
import type { Reply } from "./answer-turn.ts";
import type { ChatTurn } from "./chat-turn.ts";
import { anthropicError, httpError } from "./http-error.ts";
import { answer, checkModel, type ModelDesk, newId, randomSeed, readBody, rolloutName } from "./model-request.ts";
import { Teller } from "./openai-routes.ts";

const Text = z.object({ type: z.literal("text"), text: z.string() });
const texts = z.union([z.string(), z.array(Text)]);
const Block = z.discriminatedUnion("type", [
  Text,
  z.object({ type: z.literal("tool_use"), id: z.string(), name: z.string(), input: z.record(z.string(), z.unknown()) }),
  z.object({ type: z.literal("tool_result"), tool_use_id: z.string(), content: texts.optional() }),
]);

const MessagesBody = z.object({
  model: z.string(),
  max_tokens: z.int().min(1),
  system: texts.optional(),
  messages: z
    .array(z.object({ role: z.enum(["user", "assistant"]), content: z.union([z.string(), z.array(Block)]) }))
    .min(1),
  tools: z
    .array(
      z.object({
        name: z.string(),
        description: z.string().default(""),
        input_schema: z.record(z.string(), z.unknown()),
      }),
    )
    .optional(),
  temperature: z.number().min(0).max(1).optional(),
  top_p: z.number().gt(0).max(1).optional(),
  stop_sequences: z.array(z.string()).max(16).optional(),
  stream: z.boolean().optional(),
});

type MessagesBody = z.infer<typeof MessagesBody>;

/** `/messages`, as Anthropic's clients know it. */
export function anthropicRoutes(desk: ModelDesk): Hono {
  const routes = new Hono();
  routes.post("/messages", async (context) => {
    const body = await readBody(context, MessagesBody);
    checkModel(desk, body.model);
    const turn = turnOf(body);
    const [rollout, { signal }] = [rolloutName(context), context.req.raw];
    const head = { id: newId("msg_"), type: "message", role: "assistant", model: body.model };
    if (!body.stream) {
      const { replies, promptTokens } = await answer(desk, turn, 1, rollout, { signal });
      return context.json({ ...head, content: blocksOf(replies[0]!), ...endOf(replies[0]!, promptTokens) });
    }
    return streamSSE(context, async (stream) => {
      const send = (type: string, more: object) =>
        stream.writeSSE({ event: type, data: JSON.stringify({ type, ...more }) });
      const empty = { input_tokens: 0, output_tokens: 0 };
      const start = { ...head, content: [], stop_reason: null, stop_sequence: null, usage: empty };
      await send("message_start", { message: start });
      try {
        const tell = (text: string) => send("content_block_delta", { index: 0, delta: { type: "text_delta", text } });
        const teller = turn.tools.length === 0 ? new Teller(tell) : undefined;
        if (teller !== undefined)
          await send("content_block_start", { index: 0, content_block: { type: "text", text: "" } });
        const { replies, promptTokens } = await answer(desk, turn, 1, rollout, { signal, onText: teller?.hear });
        const reply = replies[0]!;
        if (teller !== undefined) {
          await teller.hear(reply.content);
          await send("content_block_stop", { index: 0 });
        } else {
          for (const [index, block] of blocksOf(reply).entries()) await sendBlock(send, index, block);
        }
        const { usage, ...delta } = endOf(reply, promptTokens);
        await send("message_delta", { delta, usage });
        await send("message_stop", {});
      } catch (error) {
        await send("error", anthropicError(httpError(error)));
      }
    });
  });
  return routes;
}

type ShownBlock = { type: "text"; text: string } | { type: "tool_use"; id: string; name: string; input: object };

async function sendBlock(
  send: (type: string, more: object) => Promise<void>,
  index: number,
  block: ShownBlock,
): Promise<void> {
  const isText = block.type === "text";
  await send("content_block_start", {
    index,
    content_block: isText ? { type: "text", text: "" } : { ...block, input: {} },
  });
  const delta = isText
    ? { type: "text_delta", text: block.text }
    : { type: "input_json_delta", partial_json: JSON.stringify(block.input) };
  await send("content_block_delta", { index, delta });
  await send("content_block_stop", { index });
}

function blocksOf({ content, calls }: Reply): ShownBlock[] {
  const used = calls.map((call): ShownBlock => {
    return { type: "tool_use", id: newId("toolu_"), name: call.name, input: call.arguments };
  });
  return content === "" && used.length > 0 ? used : [{ type: "text", text: content }, ...used];
}

function endOf({ finish, tokens, ended }: Reply, promptTokens: number) {
  const reasons = { calls: "tool_use", length: "max_tokens", stop: ended ? "end_turn" : "stop_sequence" } as const;
  return {
    ...{ stop_reason: reasons[finish], stop_sequence: null },
    usage: { input_tokens: promptTokens, output_tokens: tokens.length },
  };
}

function turnOf(body: MessagesBody): ChatTurn {
  const names = new Map<string, string>();
  const system: Message[] = body.system === undefined ? [] : [{ role: "system", content: joined(body.system) }];
  return {
    messages: [...system, ...body.messages.flatMap(({ role, content }) => messagesOf(role, content, names))],
    tools: (body.tools ?? []).map(({ input_schema: parameters, ...tool }): ToolSpec => ({ ...tool, parameters })),
    sampling: {
      ...{ temperature: body.temperature ?? 1, topP: body.top_p, maxTokens: body.max_tokens, seed: randomSeed() },
      ...{ stop: (body.stop_sequences ?? []).filter((text) => text !== ""), alternatives: 0 },
    },
  };
}

/** Tool results stand in the user's message there; here each is a message of its own. */
function messagesOf(
  role: "user" | "assistant",
  content: MessagesBody["messages"][number]["content"],
  names: Map<string, string>,
): Message[] {
  if (typeof content === "string") return [{ role, content }];
  const text = content.flatMap((block) => (block.type === "text" ? [block.text] : [])).join("");
  if (role === "assistant") {
    const used = content.flatMap((block) => (block.type === "tool_use" ? [block] : []));
    for (const { id, name } of used) names.set(id, name);
    const calls = used.map(({ name, input }) => ({ name, arguments: input }));
    return [{ role, content: text, ...(calls.length === 0 ? {} : { calls }) }];
  }
  const results = content.flatMap((block): Message[] => {
    if (block.type !== "tool_result") return [];
    return [{ role: "tool", name: names.get(block.tool_use_id) ?? "tool", content: joined(block.content ?? "") }];
  });
  return [...results, ...(text === "" ? [] : [{ role, content: text }])];
}

function joined(content: z.infer<typeof texts>): string {
  return typeof content === "string" ? content : content.map(({ text }) => text).join("");
}
