import type { Client, CreateMessageRequestParams, ElicitRequestFormParams } from "@modelcontextprotocol/client";
import { bounds } from "../bounds.ts";
import { defined } from "../defined.ts";
import { errorText, LudusError } from "../errors.ts";
import type { Message } from "../schema/message.ts";
import type { McpAnswers, McpAskContext, McpElicited, McpSampled, McpSampleRequest } from "./mcp-answers.ts";
import { describeContent } from "./mcp-content.ts";
import { ToolError } from "./tool.ts";

/** The code that the protocol has for a request that was declined. */
const declined = -1;

/** What the server is told in place of an answer. */
export class AskRefused extends Error {
  readonly code = declined;
}

export function capabilitiesOf({ sample, elicit }: McpAnswers) {
  return {
    ...(sample && { sampling: {} }),
    ...(elicit && { elicitation: { form: { applyDefaults: true } } }),
  };
}

/** Answers what one server asks, within bounds: so many requests for each call under way, and so long for each. */
export class McpAsks {
  readonly #answers: McpAnswers;
  readonly #timeoutMs: number;
  readonly #giveUp: (why: Error) => void;
  #callsUnderWay = 0;
  #left = 0;
  #refused = 0;
  #failure: { readonly error: LudusError; readonly index: number } | undefined;
  #failures = 0;

  /** `giveUp` is told when the server goes on asking although it is refused. */
  constructor(answers: McpAnswers, timeoutMs: number, giveUp: (why: Error) => void) {
    this.#answers = answers;
    this.#timeoutMs = timeoutMs;
    this.#giveUp = giveUp;
  }

  register(client: Client): void {
    const { sample, elicit } = this.#answers;
    if (sample !== undefined)
      client.setRequestHandler("sampling/createMessage", async ({ params }, { mcpReq }) => {
        const { text, model, stopReason } = await this.#answer("sampling", mcpReq.signal, async (context) =>
          checkSampled(await sample(toSample(params), context)),
        );
        return { role: "assistant" as const, content: { type: "text" as const, text }, model, stopReason };
      });
    if (elicit !== undefined)
      client.setRequestHandler("elicitation/create", async ({ params }, { mcpReq }) => {
        const { message, requestedSchema } = params as ElicitRequestFormParams;
        const request = { message, schema: requestedSchema };
        const answer = async (context: McpAskContext) => checkElicited(await elicit(request, context));
        const said = await this.#answer("elicitation", mcpReq.signal, answer).catch((error: unknown) => {
          // how the protocol says that nobody chose
          if (error instanceof AnswerLate) return { action: "cancel" as const };
          throw error;
        });
        return said.action === "accept" ? { action: said.action, content: { ...said.content } } : said;
      });
  }

  /** Does the work of one call, during which the server may ask. A fault of the functions that answer is the call's. */
  async during<Value>(work: () => Promise<Value>): Promise<Value> {
    const before = this.#failures;
    this.#callsUnderWay++;
    this.#refused = 0;
    this.#left += bounds.mcpAsks;
    try {
      const value = await work();
      this.#throwFailure(before);
      return value;
    } catch (error) {
      this.#throwFailure(before);
      throw error;
    } finally {
      this.#callsUnderWay--;
      this.#left = Math.min(this.#left, this.#callsUnderWay * bounds.mcpAsks);
    }
  }

  #throwFailure(before: number): void {
    if (this.#failure !== undefined && this.#failure.index > before) throw this.#failure.error;
  }

  async #answer<Value>(
    what: string,
    signal: AbortSignal,
    work: (context: McpAskContext) => Value | Promise<Value>,
  ): Promise<Value> {
    this.#spend();
    const late = new AbortController();
    const timer = setTimeout(() => late.abort(new AnswerLate(what, this.#timeoutMs)), this.#timeoutMs);
    const either = AbortSignal.any([signal, late.signal]);
    const over = Promise.withResolvers<never>();
    const onAbort = () => over.reject(either.reason instanceof Error ? either.reason : new AskRefused("called off"));
    either.addEventListener("abort", onAbort, { once: true });
    try {
      if (either.aborted) onAbort();
      return await Promise.race([over.promise, Promise.resolve().then(() => work({ signal: either }))]);
    } catch (error) {
      if (error instanceof ToolError) throw new AskRefused(error.message);
      if (!either.aborted) this.#fail(what, error);
      throw error;
    } finally {
      clearTimeout(timer);
      either.removeEventListener("abort", onAbort);
      over.promise.catch(() => {});
    }
  }

  #spend(): void {
    if (this.#left > 0) {
      this.#left--;
      return;
    }
    this.#refused++;
    const why =
      this.#callsUnderWay === 0
        ? "no call is under way"
        : `the server asked more than ${bounds.mcpAsks} times during a call`;
    const refusal = new AskRefused(why);
    if (this.#refused >= bounds.mcpAsks) this.#giveUp(refusal);
    throw refusal;
  }

  #fail(what: string, error: unknown): void {
    this.#failures++;
    this.#failure = {
      index: this.#failures,
      error: new LudusError("mcp-answer-failed", {
        got: `"${errorText(error).slice(0, bounds.failureText)}" from the function that answers ${what}`,
        expected: "an answer for the server, or a ToolError that declines",
      }),
    };
  }
}

class AnswerLate extends AskRefused {
  constructor(what: string, timeoutMs: number) {
    super(`nobody answered the request for ${what} within ${timeoutMs} ms`);
  }
}

function checkSampled(said: unknown): Required<McpSampled> {
  const {
    text,
    model = "ludus",
    stopReason = "endTurn",
  } = (typeof said === "object" && said !== null ? said : { text: said }) as Partial<McpSampled>;
  if (typeof text === "string") return { text, model, stopReason };
  throw new TypeError(`sample returned ${typeof text}, and not a text or { text }`);
}

function checkElicited(said: unknown): McpElicited {
  const { action, content } = (said ?? {}) as { action?: unknown; content?: unknown };
  if (action === "decline" || action === "cancel") return { action };
  if (action === "accept" && typeof content === "object" && content !== null)
    return { action, content: content as Record<string, string> };
  throw new TypeError(`elicit returned ${JSON.stringify(said)}, and not an action, with content where it is "accept"`);
}

function toSample(params: CreateMessageRequestParams): McpSampleRequest {
  const { systemPrompt, messages, maxTokens, temperature, stopSequences } = params;
  const system: Message[] = systemPrompt === undefined ? [] : [{ role: "system", content: systemPrompt }];
  const said = messages.map(({ role, content }): Message => {
    const parts = Array.isArray(content) ? content : [content];
    return { role, content: parts.map(describeSampled).join("\n") };
  });
  return { messages: [...system, ...said], maxTokens, ...defined({ temperature, stopSequences }) };
}

type Part = Extract<CreateMessageRequestParams["messages"][number]["content"], readonly unknown[]>[number];

function describeSampled(part: Part): string {
  // only for clients that say they can do it, and this one does not
  if (part.type === "tool_use" || part.type === "tool_result") return `[${part.type}]`;
  return describeContent(part);
}
