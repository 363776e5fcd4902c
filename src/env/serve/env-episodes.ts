import { randomUUID } from "node:crypto";
import type { ToolSpec } from "../../schema/message.ts";
import type { Env } from "../env.ts";
import { EnvSession, episodeArgument, propertiesOf, type Reply, type TaskCursor, wrong } from "./env-session.ts";

interface Open {
  readonly session: EnvSession;
  readonly idle: NodeJS.Timeout;
  isFinished: boolean;
}

export interface EnvEpisodesOptions {
  /** An episode that nobody has asked for in so long is ended and forgotten. */
  readonly idleMs: number;
  readonly maxSessions: number;
}

/**
 * The episodes of clients without sessions. `start_episode` gives a handle, which every other tool takes: a request says all
 * that is to be known about it, and one client may play many episodes at a time.
 */
export class EnvEpisodes {
  readonly tools: readonly ToolSpec[];
  readonly #env: Env;
  readonly #options: EnvEpisodesOptions;
  readonly #cursor: TaskCursor = { next: 0, isShared: true };
  readonly #open = new Map<string, Open>();

  constructor(env: Env, options: EnvEpisodesOptions) {
    this.#env = env;
    this.#options = options;
    this.tools = new EnvSession(env).tools.map((spec) => (spec.name === "start_episode" ? spec : withHandle(spec)));
  }

  async call(name: string, args: Readonly<Record<string, unknown>>): Promise<Reply> {
    if (name === "start_episode") return this.#start(args);
    const { [episodeArgument]: id, ...given } = args;
    const known = this.tools.map((tool) => tool.name);
    if (!known.includes(name)) return wrong(`there is no tool "${name}". Tools: ${known.join(", ")}.`);
    if (typeof id !== "string") return wrong(`${episodeArgument}: expected what start_episode told.`);
    const found = this.#open.get(id);
    if (found === undefined) return wrong(`there is no episode "${id.slice(0, 100)}": call start_episode.`);
    found.idle.refresh();
    if (name === "finish") found.isFinished = true;
    return found.session.call(name, given);
  }

  /** Ends all that are running. */
  async close(): Promise<void> {
    await Promise.all(Array.from(this.#open.keys(), (id) => this.#forget(id)));
  }

  async #start(args: Readonly<Record<string, unknown>>): Promise<Reply> {
    if (!this.#hasRoom())
      return wrong(
        `${this.#options.maxSessions} episodes are open, and more are not: call finish on one, or try later.`,
      );
    const id = randomUUID();
    const session = new EnvSession(this.#env, this.#cursor);
    const idle = setTimeout(() => void this.#forget(id), this.#options.idleMs).unref();
    this.#open.set(id, { session, idle, isFinished: false });
    const reply = await session.call("start_episode", args).catch(async (error: unknown) => {
      await this.#forget(id);
      throw error;
    });
    if (reply.structured === undefined) {
      await this.#forget(id);
      return reply;
    }
    const text = `${reply.text}\n[${episodeArgument}: ${id}]`;
    return { ...reply, text, structured: { ...reply.structured, [episodeArgument]: id } };
  }

  /** Those that are finished are kept, so that their score can be asked for again, until there are too many. */
  #hasRoom(): boolean {
    if (this.#open.size < this.#options.maxSessions) return true;
    for (const [id, { isFinished }] of this.#open) {
      if (!isFinished) continue;
      void this.#forget(id);
      return true;
    }
    return false;
  }

  async #forget(id: string): Promise<void> {
    const found = this.#open.get(id);
    this.#open.delete(id);
    clearTimeout(found?.idle);
    await found?.session.close();
  }
}

function withHandle(spec: ToolSpec): ToolSpec {
  const { parameters } = spec;
  const required = Array.isArray(parameters.required) ? parameters.required : [];
  const handle = { type: "string", description: "What start_episode told" };
  return {
    ...spec,
    parameters: {
      ...parameters,
      properties: { [episodeArgument]: handle, ...propertiesOf(spec) },
      required: [episodeArgument, ...required],
    },
  };
}
