import { z } from "zod";
import { defined } from "../../defined.ts";
import { LudusError } from "../../errors.ts";
import { hermes } from "../../policy/formats/hermes.ts";
import type { ToolSpec } from "../../schema/message.ts";
import type { Env } from "../env.ts";
import { Episode, type EpisodeEnd, type EpisodeResult, type Move } from "../episode.ts";

export interface Reply {
  readonly text: string;
  readonly isError?: boolean;
  /** The same, for programs. */
  readonly structured?: Readonly<Record<string, unknown>>;
}

const startInput = z.object({
  split: z.string().optional().describe('Where the task comes from; "train" where absent'),
  index: z.int().min(0).optional().describe("Which task; the next one where absent"),
});
const sayInput = z.object({ text: z.string() });

/** The tools that every environment has besides its own. */
const ownTools = {
  start_episode: { description: "Begins an episode, and ends the one before", input: startInput },
  say: {
    description: "Says something, in the way the environment asks for; without a call it is the answer",
    input: sayInput,
  },
  finish: { description: "Ends the episode, if it has not ended, and tells its score", input: z.object({}) },
};

const isOwn = (name: string): name is keyof typeof ownTools => Object.hasOwn(ownTools, name);

/** The argument by which a client without a session says which episode it means. */
export const episodeArgument = "episode_id";

export function checkToolNames({ name, tools = {} }: Pick<Env, "name" | "tools">): void {
  const taken = Object.keys(tools).find(isOwn);
  if (taken !== undefined)
    throw new LudusError("tool-name-taken", {
      got: `the tool "${taken}" of ${name}`,
      expected: `any name but ${Object.keys(ownTools).join(", ")}, which serve the environment`,
      hint: `Serve it under another name: serveEnv({ ...env, tools: { ... } }).`,
    });
  const other = Object.entries(tools).find(([, { spec }]) => Object.hasOwn(propertiesOf(spec), episodeArgument));
  if (other === undefined) return;
  throw new LudusError("tool-argument-taken", {
    got: `the argument "${episodeArgument}" of the tool "${other[0]}" of ${name}`,
    expected: "any other name: clients without a session say with it which episode they mean",
  });
}

export const propertiesOf = ({ parameters }: Pick<ToolSpec, "parameters">) =>
  (parameters.properties ?? {}) as Readonly<Record<string, unknown>>;

/** Which task is next where a client does not say. */
export interface TaskCursor {
  next: number;
  /** Several clients have it: one that says which task does not move it. */
  readonly isShared?: boolean;
}

interface Running {
  readonly episode: Episode;
  readonly cancel: AbortController;
  readonly timer: NodeJS.Timeout;
  isTimeUp: boolean;
  result?: EpisodeResult;
}

/** One client, one episode at a time. Calls are answered in the order they came. */
export class EnvSession {
  readonly tools: readonly ToolSpec[];
  readonly #env: Env;
  readonly #cursor: TaskCursor;
  #running: Running | undefined;
  #last: Promise<unknown> = Promise.resolve();

  constructor(env: Env, cursor: TaskCursor = { next: 0 }) {
    this.#env = env;
    this.#cursor = cursor;
    const own = Object.entries(ownTools).map(([name, { description, input }]) => {
      const { $schema: _, additionalProperties: __, ...parameters } = z.toJSONSchema(input);
      return { name, description, parameters };
    });
    this.tools = [...own, ...Object.entries(env.tools ?? {}).map(([name, { spec }]) => ({ name, ...spec }))];
  }

  call(name: string, args: Readonly<Record<string, unknown>>): Promise<Reply> {
    return this.#inTurn(() => this.#call(name, args));
  }

  /** Ends what is running. */
  close(): Promise<void> {
    this.#running?.cancel.abort();
    return this.#inTurn(async () => {
      await this.#end({ stop: "cancelled" });
    });
  }

  #inTurn<Value>(work: () => Promise<Value>): Promise<Value> {
    const done = this.#last.then(work);
    this.#last = done.catch(() => {});
    return done;
  }

  async #call(name: string, args: Readonly<Record<string, unknown>>): Promise<Reply> {
    const known = this.tools.map((tool) => tool.name);
    if (!known.includes(name)) return wrong(`there is no tool "${name}". Tools: ${known.join(", ")}.`);
    const input = isOwn(name) ? ownTools[name].input.safeParse(args) : undefined;
    if (input?.success === false) return wrong(z.prettifyError(input.error));
    if (name === "start_episode") return this.#start(startInput.parse(args));
    const running = this.#running;
    if (running === undefined) return wrong("no episode is open: call start_episode first.");
    if (name === "finish") return this.#finish(running);
    if (running.result !== undefined)
      return wrong(`the episode is over (${running.result.stop}): call finish or start_episode.`);
    const text = name === "say" ? sayInput.parse(args).text : hermes().write({ calls: [{ name, arguments: args }] });
    return this.#tell(running, await running.episode.step(text));
  }

  async #start({ split = "train", index: asked }: z.infer<typeof startInput>): Promise<Reply> {
    const { splits } = this.#env.tasks;
    if (!splits.includes(split)) return wrong(`there is no split "${split}". Splits: ${splits.join(", ")}.`);
    const index = asked ?? this.#cursor.next;
    if (asked === undefined || this.#cursor.isShared !== true) this.#cursor.next = index + 1;
    await this.#end({ stop: "cancelled" });
    const task = await this.#env.tasks.at(split, index);
    const cancel = new AbortController();
    // tools are called by name and not in words, so the format that is sure to say any call will do
    const format = this.#env.tools === undefined ? this.#env.format : hermes();
    const episode = new Episode(this.#env, task, { signal: cancel.signal, format });
    const timer = setTimeout(() => this.#expire(running), Math.min(this.#env.limits.episodeMs, 2 ** 31 - 1)).unref();
    const running: Running = { episode, cancel, timer, isTimeUp: false };
    this.#running = running;
    return this.#tell(running, await episode.start(), { task: task.id, split, index });
  }

  #expire(running: Running): void {
    running.isTimeUp = true;
    running.cancel.abort();
    void this.#inTurn(async () => {
      if (this.#running === running) await this.#end({ stop: "cancelled" });
    });
  }

  async #tell(running: Running, next: Move | EpisodeEnd, facts: Reply["structured"] = {}): Promise<Reply> {
    const turn = running.episode.turns.at(-1);
    const isError = turn?.calls.some(({ outcome }) => outcome !== "ok") ?? false;
    if ("role" in next) {
      const who = this.#env.roles.length > 1 ? [`[You are ${next.role}.]`] : [];
      const text = [...who, ...next.messages.map(({ content }) => content)].join("\n");
      return { text, isError, structured: { ...facts, role: next.role, reward: turn?.reward ?? 0 } };
    }
    const result = await this.#end(next);
    const failure = result.failure === undefined ? "" : `: ${result.failure.split("\n")[0]}`;
    const over = `[The episode is over: ${result.stop}${failure}. Call finish for the score.]`;
    const said = turn?.observation ?? "";
    const structured = { ...facts, stop: result.stop, observation: said, ...defined({ failure: result.failure }) };
    return { text: said === "" ? over : `${said}\n${over}`, isError, structured };
  }

  async #finish(running: Running): Promise<Reply> {
    const { stop, failure, scores, turns } = await this.#end({ stop: "completed" }, running);
    const lines = Object.entries(scores).map(([role, { total, success, parts }]) => {
      const named = Object.entries(parts).map(([part, value]) => `${part} ${value}`);
      const who = this.#env.roles.length > 1 ? `${role}: ` : "";
      return `${who}score ${total} (${named.join(", ") || "no parts"}), ${success ? "success" : "no success"}`;
    });
    const why = failure === undefined ? "" : `: ${failure.split("\n")[0]}`;
    const text = [`${stop} after ${turns.length} turns${why}`, ...lines].join("\n");
    return { text, structured: { stop, turns: turns.length, scores } };
  }

  async #end(end: EpisodeEnd, running = this.#running): Promise<EpisodeResult> {
    if (running === undefined) return { stop: "cancelled", turns: [], scores: {} };
    clearTimeout(running.timer);
    running.result ??= await running.episode.finish(running.isTimeUp ? timeIsUp : end);
    return running.result;
  }
}

const timeIsUp: EpisodeEnd = { stop: "episode-timeout", failure: "the episode took longer than limits.episodeMs" };

export const wrong = (problem: string): Reply => ({ text: problem, isError: true });
