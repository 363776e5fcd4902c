import { randomUUID } from "node:crypto";
import { setTimeout as wait } from "node:timers/promises";
import { z } from "zod";
import { defined } from "../../defined.ts";
import { errorText, LudusError } from "../../errors.ts";
import { type KnownOptions, refuseUnknownOptions } from "../../known-options.ts";
import type { AgentAttempt } from "../agent-attempt.ts";
import { type A2aEndpoint, endpointOf } from "./a2a-card.ts";
import { type ModelAccess, modelAccess } from "./model-access.ts";
import { agentJson, agentUrl, badAnswer, quoted, requestAgent } from "./request-agent.ts";
import { withoutSecrets } from "./without-secrets.ts";

export interface A2aAgentOptions {
  /** Where the agent is; its card is looked for under `/.well-known/agent-card.json` there. */
  url: string;
  headers?: Readonly<Record<string, string>>;
  /** How often a task that is not done yet is asked for; 500 by default. */
  pollMs?: number;
}

/** A timer takes more for 1 ms. */
const longestMs = 2 ** 31 - 1;

const known: KnownOptions<A2aAgentOptions> = { url: true, headers: true, pollMs: true };

/**
 * An agent behind the Agent2Agent protocol (1.0 or 0.3, JSON-RPC): a function that sends it a task as a message and gives the text
 * of what it answered: its message, or its task's artifacts. Where the policy is found is in the message's metadata, under `ludus`.
 *
 *     const ask = a2aAgent({ url: "http://127.0.0.1:41241" });
 *     const env = agentEnv({ name, tasks, serve: {}, run: async (task, attempt) => score(task, await ask(task.question, attempt)) });
 *
 * A task that failed, was rejected or cancelled ends the attempt as `env-crash`. One that asks for input has answered with what it
 * asks. Where an attempt ends while it asks for a task again, the task is cancelled.
 */
export function a2aAgent(options: A2aAgentOptions): (task: string, attempt: AgentAttempt) => Promise<string> {
  refuseUnknownOptions("a2aAgent", options, known);
  const { headers, pollMs = 500 } = options;
  if (!(pollMs > 0 && pollMs <= longestMs)) {
    throw new LudusError("bad-config", { got: `pollMs ${pollMs}`, expected: `more than 0 and at most ${longestMs}` });
  }
  const url = agentUrl("a2aAgent", options.url);
  // what one attempt could not read, because its time was over, another asks for again
  let endpoint: A2aEndpoint | undefined;
  return async (task, attempt) => {
    const access = modelAccess(attempt);
    const { signal } = attempt;
    return withoutSecrets({ ...headers, apiKey: access.apiKey }, async () => {
      endpoint ??= await endpointOf(url, { signal, ...defined({ headers }) });
      return new A2aCall(endpoint, signal, pollMs, headers ?? {}).answer(task, access);
    });
  };
}

const Part = z.object({ text: z.string().optional() });
const Message = z.object({ parts: z.array(Part) });
const Task = z.object({
  id: z.string(),
  status: z.object({ state: z.string(), message: Message.nullish() }),
  artifacts: z.array(z.object({ parts: z.array(Part) })).nullish(),
});
type Task = z.infer<typeof Task>;

const RpcReply = z.union([
  z.object({ error: z.object({ code: z.number(), message: z.string() }) }),
  z.object({ result: z.unknown() }),
]);

/** One task at one agent. */
class A2aCall {
  readonly #at: A2aEndpoint;
  readonly #signal: AbortSignal;
  readonly #pollMs: number;
  readonly #headers: Readonly<Record<string, string>>;

  constructor(at: A2aEndpoint, signal: AbortSignal, pollMs: number, headers: Readonly<Record<string, string>>) {
    this.#at = at;
    this.#signal = signal;
    this.#pollMs = pollMs;
    this.#headers = headers;
  }

  async answer(text: string, access: ModelAccess): Promise<string> {
    const isNew = this.#at.version === "1.0";
    const message = {
      messageId: randomUUID(),
      role: isNew ? "ROLE_USER" : "user",
      parts: [isNew ? { text } : { kind: "text", text }],
      metadata: { ludus: access },
      ...(isNew ? {} : { kind: "message" }),
    };
    const configuration = { acceptedOutputModes: ["text/plain"], ...(isNew ? {} : { blocking: true }) };
    const result = await this.#rpc(isNew ? "SendMessage" : "message/send", { message, configuration });
    const said = messageIn(result);
    if (said !== undefined) return textOf(said.parts);
    return this.#untilDone(taskIn(result));
  }

  async #untilDone(first: Task): Promise<string> {
    let task = first;
    try {
      for (;;) {
        const answer = outcomeOf(task);
        if (answer !== undefined) return answer;
        await wait(this.#pollMs, undefined, { signal: this.#signal });
        task = taskIn(await this.#rpc(this.#at.version === "1.0" ? "GetTask" : "tasks/get", { id: task.id }));
      }
    } catch (error) {
      if (!this.#signal.aborted) throw error;
      this.#cancel(task.id);
      throw this.#signal.reason;
    }
  }

  /** Nobody waits for it: the attempt is over. */
  #cancel(id: string): void {
    const method = this.#at.version === "1.0" ? "CancelTask" : "tasks/cancel";
    this.#rpc(method, { id }, AbortSignal.timeout(5_000)).catch(() => {});
  }

  async #rpc(method: string, params: object, signal = this.#signal): Promise<unknown> {
    const { url, version } = this.#at;
    const body = { jsonrpc: "2.0", id: randomUUID(), method, params };
    const headers = { "a2a-version": version, ...this.#headers };
    const reply = await requestAgent({ url, body, headers, signal });
    const read = RpcReply.safeParse(agentJson(reply, url));
    if (!read.success) throw badAnswer(quoted(reply.text), "a result or an error of JSON-RPC");
    if (!("error" in read.data)) return read.data.result;
    const { code, message } = read.data.error;
    const got = `error ${code} to ${method}: ${errorText(message)}`;
    throw new LudusError("agent-failed", { got, expected: "a message or a task" });
  }
}

/** 1.0 names what a result holds; 0.3 says in it what kind it is. */
function messageIn(result: unknown): z.infer<typeof Message> | undefined {
  const shape = z.union([
    z.object({ message: Message }).transform(({ message }) => message),
    z.object({ kind: z.literal("message"), parts: z.array(Part) }),
  ]);
  return shape.safeParse(result).data;
}

function taskIn(result: unknown): Task {
  const read = z.union([z.object({ task: Task }).transform(({ task }) => task), Task]).safeParse(result);
  if (read.success) return read.data;
  throw badAnswer(quoted(JSON.stringify(result) ?? ""), "a message or a task of A2A");
}

/** The answer of a task, where it is done. */
function outcomeOf({ status, artifacts }: Task): string | undefined {
  const state = status.state
    .replace(/^TASK_STATE_/, "")
    .toLowerCase()
    .replaceAll("_", "-");
  const said = status.message?.parts ?? [];
  switch (state) {
    case "submitted":
    case "working":
      return undefined;
    case "completed":
      return textOf(artifacts?.length ? artifacts.flatMap(({ parts }) => parts) : said);
    case "input-required":
      return textOf(said);
    default:
      throw new LudusError("agent-failed", {
        got: `a task that is ${state}: ${quoted(said.map(({ text = "" }) => text).join(""))}`,
        expected: "one that is completed",
      });
  }
}

function textOf(parts: readonly z.infer<typeof Part>[]): string {
  const texts = parts.flatMap(({ text }) => (text === undefined ? [] : [text]));
  if (texts.length > 0) return texts.join("");
  throw badAnswer(`${parts.length} parts without text`, "an answer with text");
}
