import { Hono } from "hono";
import { streamSSE } from "hono/streaming";
import type { ToolCall } from "../../schema/message.ts";
import { httpError, openAiError } from "./http-error.ts";
import {
  type Answered,
  accept,
  checkModel,
  goneWith,
  type ModelHandler,
  newId,
  randomSeed,
  readBody,
  rolloutName,
} from "./model-request.ts";
import { ResponsesBody, turnOfResponses } from "./responses-request.ts";
import { Teller } from "./teller.ts";

/** `/responses`, as OpenAI's newer clients know it. Nothing is stored: conversations are sent whole. */
export function responsesRoutes(handler: ModelHandler): Hono {
  const routes = new Hono();
  routes.post("/responses", async (context) => {
    const body = await readBody(context, ResponsesBody);
    checkModel(handler, body.model);
    const turn = turnOfResponses(body, randomSeed());
    const head = headOf(handler, body);
    const respond = accept(handler, turn, 1, rolloutName(handler, context));
    const { signal } = context.req.raw;
    if (!body.stream) {
      const answered = await respond({ signal });
      const items = new OutputItems(async () => {});
      await new Teller(items).hear(answered.replies[0]);
      await items.end();
      return context.json({ ...head, ...endOf(answered), output: items.output });
    }
    return streamSSE(context, async (stream) => {
      let sequence = 0;
      const send: Send = (type, more) =>
        stream.writeSSE({ event: type, data: JSON.stringify({ type, sequence_number: sequence++, ...more }) });
      try {
        await streamResponse(send, head, respond, goneWith(stream, signal));
      } catch (error) {
        await send("error", { ...openAiError(httpError(error)).error });
      }
    });
  });
  return routes;
}

type Send = (type: string, more: object) => Promise<void>;
type Head = ReturnType<typeof headOf>;

async function streamResponse(
  send: Send,
  head: Head,
  respond: ReturnType<typeof accept>,
  signal: AbortSignal,
): Promise<void> {
  const begun = { ...head, status: "in_progress", output: [], usage: null, incomplete_details: null };
  await send("response.created", { response: begun });
  await send("response.in_progress", { response: begun });
  const items = new OutputItems(send);
  const teller = new Teller(items);
  const answered = await respond({ signal, onTold: teller.hear });
  await teller.hear(answered.replies[0]);
  await items.end();
  const end = endOf(answered);
  await send(`response.${end.status}`, { response: { ...head, ...end, output: items.output } });
}

type OutputItem = { readonly type: string; readonly id: string } & Record<string, unknown>;

/** The items of a response as they come: text grows while its message is open, a call is whole. */
class OutputItems {
  readonly output: OutputItem[] = [];
  readonly #send: Send;
  /** The message that text is added to. */
  #open: { readonly id: string; text: string } | undefined;

  constructor(send: Send) {
    this.#send = send;
  }

  async text(part: string): Promise<void> {
    if (this.#open === undefined) await this.#openMessage();
    const { id } = this.#open!;
    this.#open!.text += part;
    await this.#send("response.output_text.delta", { ...this.#place(id), delta: part, logprobs: [] });
  }

  async call({ name, arguments: given }: ToolCall): Promise<void> {
    await this.#closeMessage();
    const text = JSON.stringify(given);
    const item = { type: "function_call", id: newId("fc_"), call_id: newId("call_"), name, arguments: text };
    const place = { item_id: item.id, output_index: this.output.length };
    const empty = { ...item, arguments: "", status: "in_progress" };
    await this.#send("response.output_item.added", { output_index: place.output_index, item: empty });
    await this.#send("response.function_call_arguments.delta", { ...place, delta: text });
    await this.#send("response.function_call_arguments.done", { ...place, name, arguments: text });
    await this.#finish({ ...item, status: "completed" });
  }

  /** A response has at least one item. */
  async end(): Promise<void> {
    if (this.output.length === 0 && this.#open === undefined) await this.#openMessage();
    await this.#closeMessage();
  }

  async #openMessage(): Promise<void> {
    this.#open = { id: newId("msg_"), text: "" };
    const { id } = this.#open;
    const item = { ...messageItem(id), status: "in_progress", content: [] };
    await this.#send("response.output_item.added", { output_index: this.output.length, item });
    await this.#send("response.content_part.added", { ...this.#place(id), part: outputText("") });
  }

  async #closeMessage(): Promise<void> {
    if (this.#open === undefined) return;
    const { id, text } = this.#open;
    this.#open = undefined;
    await this.#send("response.output_text.done", { ...this.#place(id), text, logprobs: [] });
    await this.#send("response.content_part.done", { ...this.#place(id), part: outputText(text) });
    await this.#finish({ ...messageItem(id), status: "completed", content: [outputText(text)] });
  }

  #place(id: string) {
    return { item_id: id, output_index: this.output.length, content_index: 0 };
  }

  async #finish(item: OutputItem): Promise<void> {
    await this.#send("response.output_item.done", { output_index: this.output.length, item });
    this.output.push(item);
  }
}

function messageItem(id: string) {
  return { type: "message", id, role: "assistant" };
}

function outputText(text: string) {
  return { type: "output_text", text, annotations: [], logprobs: [] };
}

/** What a response says about the request, whatever the answer. */
function headOf({ model, now }: ModelHandler, body: ResponsesBody) {
  return {
    id: newId("resp_"),
    object: "response",
    created_at: Math.floor(now()),
    error: null,
    instructions: body.instructions ?? null,
    max_output_tokens: body.max_output_tokens ?? null,
    metadata: body.metadata ?? {},
    model: model.name,
    parallel_tool_calls: body.parallel_tool_calls ?? true,
    previous_response_id: null,
    store: false,
    temperature: body.temperature ?? 1,
    text: { format: body.text?.format ?? { type: "text" } },
    tool_choice: body.tool_choice ?? "auto",
    tools: body.tools ?? [],
    top_p: body.top_p ?? 1,
    truncation: "disabled",
  };
}

function endOf({ promptTokens, replies: [{ finish, tokens }] }: Answered) {
  const isCut = finish === "length";
  return {
    status: isCut ? "incomplete" : "completed",
    incomplete_details: isCut ? { reason: "max_output_tokens" } : null,
    usage: {
      input_tokens: promptTokens,
      input_tokens_details: { cached_tokens: 0 },
      output_tokens: tokens.length,
      output_tokens_details: { reasoning_tokens: 0 },
      total_tokens: promptTokens + tokens.length,
    },
  };
}
