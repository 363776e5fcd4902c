import { Hono } from "hono";
import { streamSSE } from "hono/streaming";
import { z } from "zod";
import { defined } from "../../defined.ts";
import type { Message, ToolCall, ToolSpec } from "../../schema/message.ts";
import type { Reply } from "./answer-turn.ts";
import type { ChatTurn } from "./chat-turn.ts";
import { anthropicError, httpError } from "./http-error.ts";
import {
  accept,
  checkModel,
  goneWith,
  type ModelHandler,
  newId,
  randomSeed,
  readBody,
  rolloutName,
} from "./model-request.ts";
import { Teller } from "./teller.ts";

const Text = z.object({ type: z.literal("text"), text: z.string() });
const texts = z.union([z.string(), z.array(Text)]);
const Block = z.discriminatedUnion("type", [
  Text,
  z.object({ type: z.literal("tool_use"), id: z.string(), name: z.string(), input: z.record(z.string(), z.unknown()) }),
  z.object({ type: z.literal("tool_result"), tool_use_id: z.string(), content: texts.optional() }),
  // what another model thought; it is no part of the conversation
  z.object({ type: z.enum(["thinking", "redacted_thinking"]) }),
]);

const MessagesBody = z.object({
  model: z.string(),
  max_tokens: z.int().min(1),
  system: texts.optional(),
  messages: z
    .array(z.object({ role: z.enum(["user", "assistant", "system"]), content: z.union([z.string(), z.array(Block)]) }))
    .min(1),
  tools: z
    .array(
      z.object({
        name: z.string(),
        description: z.string().default(""),
        input_schema: z.record(z.string(), z.unknown()),
        defer_loading: z.boolean().optional(),
      }),
    )
    .optional(),
  tool_choice: z
    .discriminatedUnion("type", [
      z.object({ type: z.enum(["auto", "any"]), disable_parallel_tool_use: z.boolean().optional() }),
      z.object({ type: z.literal("tool"), name: z.string(), disable_parallel_tool_use: z.boolean().optional() }),
      z.object({ type: z.literal("none") }),
    ])
    .default({ type: "auto" }),
  temperature: z.number().min(0).max(1).optional(),
  top_p: z.number().gt(0).max(1).optional(),
  stop_sequences: z.array(z.string()).max(16).optional(),
  stream: z.boolean().optional(),
});

type MessagesBody = z.infer<typeof MessagesBody>;

/** `/messages`, as Anthropic's clients know it. */
export function anthropicRoutes(handler: ModelHandler): Hono {
  const routes = new Hono();
  routes.post("/messages", async (context) => {
    const body = await readBody(context, MessagesBody);
    checkModel(handler, body.model);
    const respond = accept(handler, turnOf(body), 1, rolloutName(handler, context));
    const { signal } = context.req.raw;
    const head = { id: newId("msg_"), type: "message", role: "assistant", model: body.model };
    if (!body.stream) {
      const { replies, promptTokens } = await respond({ signal });
      return context.json({ ...head, content: blocksOf(replies[0]), ...endOf(replies[0], promptTokens) });
    }
    return streamSSE(context, async (stream) => {
      const send: Send = (type, more) => stream.writeSSE({ event: type, data: JSON.stringify({ type, ...more }) });
      try {
        await streamMessage(send, head, respond, goneWith(stream, signal));
      } catch (error) {
        await send("error", anthropicError(httpError(error)));
      }
    });
  });
  return routes;
}

type Send = (type: string, more: object) => Promise<void>;
type ShownBlock = { type: "text"; text: string } | { type: "tool_use"; id: string; name: string; input: object };

async function streamMessage(
  send: Send,
  head: object,
  respond: ReturnType<typeof accept>,
  signal: AbortSignal,
): Promise<void> {
  const empty = { input_tokens: 0, output_tokens: 0 };
  const start = { ...head, content: [], stop_reason: null, stop_sequence: null, usage: empty };
  await send("message_start", { message: start });
  const blocks = new StreamedBlocks(send);
  const teller = new Teller({ text: (part) => blocks.text(part), call: (call) => blocks.use(toolUse(call)) });
  const { replies, promptTokens } = await respond({ signal, onTold: teller.hear });
  const reply = replies[0];
  await teller.hear(reply);
  await blocks.end();
  const { usage, ...delta } = endOf(reply, promptTokens);
  await send("message_delta", { delta, usage });
  await send("message_stop", {});
}

/** Blocks of a message as they come: text grows while it is open, a call is whole. */
class StreamedBlocks {
  readonly #send: Send;
  #count = 0;
  #isOpen = false;

  constructor(send: Send) {
    this.#send = send;
  }

  async text(text: string): Promise<void> {
    if (!this.#isOpen) await this.#start({ type: "text", text: "" });
    await this.#delta({ type: "text_delta", text });
  }

  async use({ input, ...block }: ShownBlock & { type: "tool_use" }): Promise<void> {
    await this.#stop();
    await this.#start({ ...block, input: {} });
    await this.#delta({ type: "input_json_delta", partial_json: JSON.stringify(input) });
    await this.#stop();
  }

  /** A message has at least one block. */
  async end(): Promise<void> {
    if (this.#count === 0) await this.text("");
    await this.#stop();
  }

  async #start(block: ShownBlock): Promise<void> {
    this.#isOpen = true;
    await this.#send("content_block_start", { index: this.#count++, content_block: block });
  }

  async #delta(delta: object): Promise<void> {
    await this.#send("content_block_delta", { index: this.#count - 1, delta });
  }

  async #stop(): Promise<void> {
    if (this.#isOpen) await this.#send("content_block_stop", { index: this.#count - 1 });
    this.#isOpen = false;
  }
}

function toolUse({ name, arguments: input }: ToolCall): ShownBlock & { type: "tool_use" } {
  return { type: "tool_use", id: newId("toolu_"), name, input };
}

function blocksOf({ content, calls }: Reply): ShownBlock[] {
  const used: ShownBlock[] = calls.map(toolUse);
  return content === "" && used.length > 0 ? used : [{ type: "text", text: content }, ...used];
}

function endOf({ finish, tokens, ended }: Reply, promptTokens: number) {
  const reasons = { calls: "tool_use", length: "max_tokens", stop: ended ? "end_turn" : "stop_sequence" } as const;
  return {
    stop_reason: reasons[finish],
    stop_sequence: null,
    usage: { input_tokens: promptTokens, output_tokens: tokens.length },
  };
}

function turnOf(body: MessagesBody): ChatTurn {
  const names = new Map<string, string>();
  const system: Message[] = body.system === undefined ? [] : [{ role: "system", content: joined(body.system) }];
  return {
    messages: [...system, ...body.messages.flatMap(({ role, content }) => messagesOf(role, content, names))],
    ...choiceOf(body.tool_choice),
    tools: body.tool_choice.type === "none" ? [] : toolsOf(body),
    sampling: {
      temperature: body.temperature ?? 1,
      topP: body.top_p,
      maxTokens: body.max_tokens,
      seed: randomSeed(),
      stop: (body.stop_sequences ?? []).filter((text) => text !== ""),
      alternatives: 0,
    },
  };
}

/** A tool whose loading is deferred is not shown to the model. */
function toolsOf({ tools = [] }: MessagesBody): ToolSpec[] {
  const shown = tools.filter(({ defer_loading: isDeferred }) => isDeferred !== true);
  return shown.map(({ name, description, input_schema: parameters }) => ({ name, description, parameters }));
}

function choiceOf(choice: MessagesBody["tool_choice"]): Pick<ChatTurn, "choice" | "oneCall"> {
  const oneCall = "disable_parallel_tool_use" in choice && choice.disable_parallel_tool_use === true;
  if (choice.type === "tool") return { choice: { name: choice.name }, oneCall };
  return { choice: choice.type === "any" ? "required" : "auto", oneCall };
}

/** Tool results stand in the user's message there; here each is a message of its own. */
function messagesOf(
  role: MessagesBody["messages"][number]["role"],
  content: MessagesBody["messages"][number]["content"],
  names: Map<string, string>,
): Message[] {
  if (typeof content === "string") return [{ role, content }];
  const text = content.flatMap((block) => (block.type === "text" ? [block.text] : [])).join("");
  if (role === "assistant") {
    const used = content.flatMap((block) => (block.type === "tool_use" ? [block] : []));
    for (const { id, name } of used) names.set(id, name);
    const calls = used.map(({ name, input }) => ({ name, arguments: input }));
    return [{ role, content: text, ...defined({ calls: calls.length === 0 ? undefined : calls }) }];
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
