import { randomUUID } from "node:crypto";
import { z } from "zod";
import { LudusError } from "../../errors.ts";
import type { ToolSpec } from "../../schema/message.ts";
import { isInfrastructureStop, type StopReason } from "../../schema/stop-reason.ts";
import type { Env } from "../env.ts";
import { EnvSession, type Reply } from "./env-session.ts";

/** What OpenEnv's clients read after `reset` and `step`. */
export interface OpenEnvResult {
  readonly observation: Readonly<Record<string, unknown>>;
  readonly reward: number | null;
  readonly done: boolean;
}

const Reset = z.looseObject({
  seed: z.int().min(0).nullish(),
  episode_id: z.string().max(255).nullish(),
  split: z.string().optional(),
  index: z.int().min(0).optional(),
});
const metadata = z.record(z.string(), z.unknown()).optional();
const Say = z.strictObject({ type: z.literal("say").optional(), message: z.string(), metadata });
const CallTool = z.strictObject({
  type: z.literal("call_tool"),
  tool_name: z.string(),
  arguments: z.record(z.string(), z.unknown()).default({}),
  metadata,
});
const ListTools = z.strictObject({ type: z.literal("list_tools"), metadata });
const Action = z.union([Say, CallTool, ListTools]);
const Told = z.object({
  stop: z.custom<StopReason>((value) => typeof value === "string").optional(),
  failure: z.string().optional(),
  observation: z.string().optional(),
  reward: z.number().optional(),
  task: z.string().optional(),
});
const Finished = z.object({
  scores: z.record(
    z.string(),
    z.object({ total: z.number(), success: z.boolean(), parts: z.record(z.string(), z.number()) }),
  ),
});

/** What a client got wrong, by the codes of OpenEnv. */
export class OpenEnvError extends Error {
  readonly code: "VALIDATION_ERROR" | "EXECUTION_ERROR" | "CAPACITY_REACHED";

  constructor(code: OpenEnvError["code"], message: string) {
    super(message);
    this.code = code;
  }
}

/** An environment of several policies has no one client: OpenEnv's `reward` is that of one. */
export function checkOneRole({ name, roles }: Pick<Env, "name" | "roles">): void {
  if (roles.length === 1) return;
  throw new LudusError("several-roles", {
    got: `${name} with the roles ${roles.join(", ")}`,
    expected: "an environment with one role, whose reward OpenEnv's clients are told",
    hint: 'Serve it with MCP: protocol "mcp".',
  });
}

/**
 * One client of OpenEnv: `reset` and `step` on an episode. The rewards of an episode add up to its score: what is not paid by turns
 * comes with the last one.
 */
export class OpenEnvSession {
  readonly #session: EnvSession;
  readonly #ownTools: readonly ToolSpec[];
  readonly #nextIndex: () => number;
  #state = { episode_id: null as string | null, step_count: 0, task: null as string | null, done: false };
  #isOpen = false;
  #paid = 0;

  constructor(env: Env, nextIndex: () => number) {
    this.#session = new EnvSession(env);
    const names = Object.keys(env.tools ?? {});
    this.#ownTools = this.#session.tools.filter(({ name }) => names.includes(name));
    this.#nextIndex = nextIndex;
  }

  get state(): Readonly<Record<string, unknown>> {
    return this.#state;
  }

  /** `index`, or else `seed`, is the number of the task: the same seed gives the same episode. */
  async reset(data: unknown): Promise<OpenEnvResult> {
    const { seed, episode_id, split, index } = parse(Reset, data);
    const chosen = index ?? seed ?? this.#nextIndex();
    this.#isOpen = false;
    const reply = await this.#session.call("start_episode", { ...(split !== undefined && { split }), index: chosen });
    if (reply.structured === undefined) throw new OpenEnvError("VALIDATION_ERROR", reply.text);
    const task = Told.parse(reply.structured).task ?? null;
    this.#state = { episode_id: episode_id ?? randomUUID(), step_count: 0, task, done: false };
    this.#isOpen = true;
    this.#paid = 0;
    return this.#result(reply, {});
  }

  async step(data: unknown): Promise<OpenEnvResult> {
    const action = parse(Action, data);
    if (action.type === "list_tools")
      return { observation: { tools: this.#listed() }, reward: null, done: this.#state.done };
    if (!this.#isOpen) throw new OpenEnvError("EXECUTION_ERROR", "no episode is open: send reset first");
    if (this.#state.done) throw new OpenEnvError("EXECUTION_ERROR", "the episode is over: send reset");
    if (action.type !== "call_tool") {
      this.#state.step_count++;
      return this.#result(await this.#session.call("say", { text: action.message }), {});
    }
    return this.#call(action.tool_name, action.arguments);
  }

  /** `tools/list` and `tools/call` on the open episode. */
  async mcp(method: string, params: Readonly<Record<string, unknown>>): Promise<unknown> {
    if (method === "tools/list")
      return { tools: this.#ownTools.map(({ parameters, ...tool }) => ({ ...tool, inputSchema: parameters })) };
    const { name, arguments: given } = parse(
      z.object({ name: z.string(), arguments: CallTool.shape.arguments }),
      params,
    );
    const { observation } = await this.step({ type: "call_tool", tool_name: name, arguments: given });
    const text = String(observation.text);
    return { content: [{ type: "text", text }], data: text, is_error: observation.error !== null };
  }

  close(): Promise<void> {
    return this.#session.close();
  }

  async #call(name: string, args: Readonly<Record<string, unknown>>): Promise<OpenEnvResult> {
    if (!this.#ownTools.some((tool) => tool.name === name)) {
      const known = this.#ownTools.map((tool) => tool.name).join(", ") || "none";
      const error = { error_type: "tool_not_found", message: `there is no tool "${name}". Tools: ${known}.` };
      return { observation: { tool_name: name, result: null, error, text: error.message }, reward: 0, done: false };
    }
    this.#state.step_count++;
    const reply = await this.#session.call(name, args);
    const result = await this.#result(reply, { tool_name: name });
    const { text } = result.observation;
    const error = reply.isError ? { error_type: "execution_error", message: String(text) } : null;
    return { ...result, observation: { ...result.observation, result: reply.isError ? null : text, error } };
  }

  async #result(reply: Reply, more: Readonly<Record<string, unknown>>): Promise<OpenEnvResult> {
    // the session refused: the episode has run out of time
    if (reply.structured === undefined) {
      this.#state.done = true;
      throw new OpenEnvError("EXECUTION_ERROR", reply.text);
    }
    const { stop, failure, observation = reply.text, reward = 0 } = Told.parse(reply.structured);
    if (stop === undefined) {
      this.#paid += reward;
      return { observation: { ...more, text: observation }, reward, done: false };
    }
    this.#state.done = true;
    if (isInfrastructureStop(stop))
      throw new OpenEnvError("EXECUTION_ERROR", `${stop}: ${failure?.split("\n")[0] ?? "the episode was ended"}`);
    const finished = await this.#session.call("finish", {});
    const [score] = Object.values(Finished.parse(finished.structured ?? {}).scores);
    const { total, success, parts } = score ?? { total: 0, success: false, parts: {} };
    return {
      observation: { ...more, text: observation, stop, success, parts },
      reward: total - this.#paid,
      done: true,
    };
  }

  #listed() {
    return this.#ownTools.map(({ name, description, parameters }) => ({ name, description, input_schema: parameters }));
  }
}

function parse<Schema extends z.ZodType>(schema: Schema, data: unknown): z.infer<Schema> {
  const read = schema.safeParse(data);
  if (read.success) return read.data;
  throw new OpenEnvError("VALIDATION_ERROR", z.prettifyError(read.error));
}

/** JSON Schemas of what is sent and told, for `GET /schema`. */
export function openEnvSchemas(env: Pick<Env, "tools">): Readonly<Record<"action" | "observation" | "state", object>> {
  const text = { type: "string" };
  const say = { message: { ...text, description: "What the policy says: an action or an answer" } };
  const call = {
    type: { type: "string", enum: ["say", "call_tool", "list_tools"], default: "say" },
    ...say,
    tool_name: { ...text, description: "With call_tool: which tool" },
    arguments: { type: "object", description: "With call_tool" },
  };
  const hasTools = env.tools !== undefined;
  return {
    action: {
      title: hasTools ? "LudusToolAction" : "LudusAction",
      type: "object",
      properties: hasTools ? call : say,
      required: hasTools ? [] : ["message"],
    },
    observation: {
      title: "LudusObservation",
      type: "object",
      properties: {
        text: { ...text, description: "What the policy reads" },
        stop: { ...text, description: "Of the last: why the episode ended" },
        success: { type: "boolean", description: "Of the last: whether the task was solved" },
        parts: { type: "object", description: "Of the last: the score in parts" },
        ...(hasTools && { tool_name: text, result: {}, error: {} }),
      },
      required: ["text"],
    },
    state: {
      title: "State",
      type: "object",
      properties: {
        episode_id: text,
        step_count: { type: "integer" },
        task: text,
        done: { type: "boolean" },
      },
    },
  };
}
