import type { Said, WantToSay } from "../policy/call-format.ts";
import { createRng, type Rng } from "../random.ts";
import type { Message, ToolSpec } from "../schema/message.ts";
import { makeScore, type Score } from "../schema/score.ts";
import { isInfrastructureStop, type StopReason } from "../schema/stop-reason.ts";
import type { Task } from "../schema/task.ts";
import type { CallRecord, Turn } from "../schema/turn.ts";
import { hashText } from "../task/seeds.ts";
import { callTool } from "../tool/call-tool.ts";
import { cutText } from "../tool/observation.ts";
import { type Ended, lazySignal, runWithin } from "../tool/run-within.ts";
import type { Acted, Env, Limits, ScoreParts } from "./env.ts";

/** Who acts now, and what they have not read yet. */
export interface Move {
  readonly role: string;
  readonly messages: readonly Message[];
}

/** A turn as the environment saw it: tokens are the rollout's. */
export type EpisodeTurn = Omit<Turn, "span"> & { readonly role: string };

export interface EpisodeEnd {
  readonly stop: StopReason;
  readonly failure?: string;
}

export interface EpisodeResult extends EpisodeEnd {
  readonly turns: readonly EpisodeTurn[];
  readonly scores: Readonly<Record<string, Score>>;
}

export interface EpisodeOptions {
  readonly signal: AbortSignal;
  readonly limits?: Limits;
  readonly format?: Env["format"];
}

type Draft = { -readonly [Key in keyof EpisodeTurn]: EpisodeTurn[Key] };

/**
 * One attempt, in messages: opens the environment, reads what policies say, runs tools, collects rewards. Whatever the
 * environment or a tool does, nothing is thrown: every way to end is a stop reason.
 *
 *     const episode = new Episode(env, task, { signal });
 *     let next = await episode.start();
 *     while ("role" in next) next = await episode.step(await answer(next.messages));
 *     const { scores } = await episode.finish(next);
 */
export class Episode<Data = unknown, State = unknown> {
  readonly tools: readonly ToolSpec[];
  /** The tools a chat template has to tell of: none where the format tells of them in words. */
  readonly templateTools: readonly ToolSpec[];
  readonly #instructions: string;
  readonly #env: Env<Data, State>;
  readonly #task: Task<Data>;
  readonly #limits: Limits;
  readonly #format: Env["format"];
  readonly #signal: AbortSignal;
  readonly #rng: Rng;
  readonly #expertRng: Rng;
  readonly #turns: Draft[] = [];
  readonly #met = new Set<string>();
  #state: { readonly value: State } | undefined;
  #role: string;
  #answer = "";
  #isFinished = false;

  constructor(env: Env<Data, State>, task: Task<Data>, options: EpisodeOptions) {
    this.#env = env;
    this.#task = task;
    this.#limits = options.limits ?? env.limits;
    this.#format = options.format ?? env.format;
    this.#signal = options.signal;
    this.#rng = createRng(task.seed);
    this.#expertRng = createRng(task.seed ^ hashText("expert"));
    this.#role = env.roles[0]!;
    this.tools = Object.entries(env.tools ?? {}).map(([name, { spec }]) => ({ name, ...spec }));
    this.#instructions = this.#format.describe(this.tools);
    this.templateTools = this.#instructions === "" ? this.tools : [];
  }

  get role(): string {
    return this.#role;
  }

  get turns(): readonly EpisodeTurn[] {
    return this.#turns;
  }

  start(): Promise<Move | EpisodeEnd> {
    return this.#guard(() => this.#start());
  }

  /** What the policy whose move it was said. */
  step(text: string, sampledTokens = 0): Promise<Move | EpisodeEnd> {
    return this.#guard(() => this.#step(text, sampledTokens));
  }

  /** The small functions of an environment (`remind`, `stateKey`, `system`) may throw too. */
  async #guard(move: () => Promise<Move | EpisodeEnd>): Promise<Move | EpisodeEnd> {
    try {
      return await move();
    } catch (error) {
      return { stop: "env-crash", failure: describe(error) };
    }
  }

  async #start(): Promise<Move | EpisodeEnd> {
    const { data } = this.#task;
    const outcome = await this.#call((signal) => this.#env.start({ task: data, rng: this.#rng, signal }));
    if (outcome.how !== "returned") return failed(outcome);
    this.#state = { value: outcome.value.state };
    return this.#move([{ role: "user", content: this.#cut(outcome.value.say) }], 0);
  }

  async #step(text: string, sampledTokens: number): Promise<Move | EpisodeEnd> {
    const said = this.#format.parse(text, this.tools);
    const state = this.#state!.value;
    const draft: Draft = { role: this.#role, text, calls: [], reward: 0, observation: "" };
    if (this.#env.stateKey !== undefined) draft.stateKey = this.#env.stateKey(state);
    this.#turns.push(draft);
    if (said.calls.length > 0 && this.#env.tools !== undefined) return this.#runCalls(said, draft, sampledTokens);
    if (this.#env.act === undefined) {
      this.#answer = said.answer;
      return { stop: "completed" };
    }
    this.#answer = said.answer;
    const outcome = await this.#call((signal) => this.#env.act!(this.#actContext(said, text, signal)));
    return outcome.how === "returned" ? this.#acted(outcome.value, draft, sampledTokens) : failed(outcome);
  }

  /** What the expert would say now, written in the format in use; undefined without an expert or when it is stuck. */
  expertSays(): string | undefined {
    const said = this.#env.expert?.(this.#expertContext());
    return said === undefined ? undefined : this.#write(said);
  }

  /** What may be said now, where the environment lists it. */
  possibleTexts(): readonly string[] {
    return (this.#env.actions?.(this.#expertContext()) ?? []).map((said) => this.#write(said));
  }

  /** Records a turn that was cut off before it could be acted on. */
  noteCutOff(text: string): void {
    this.#turns.push({ role: this.#role, text, calls: [], reward: 0, observation: "" });
  }

  #expertContext() {
    const [state, turn] = [this.#state!.value, this.#turns.length];
    return { task: this.#task.data, state, rng: this.#expertRng, role: this.#role, turn };
  }

  #write(said: WantToSay | string): string {
    return this.#format.write(typeof said === "string" ? { answer: said } : said, this.tools);
  }

  /** Scores and closes. Only what ended by the policy's own doing is scored. */
  async finish(end: EpisodeEnd): Promise<EpisodeResult> {
    let result: EpisodeResult = { ...end, turns: this.#turns, scores: this.#noScores() };
    if (!isInfrastructureStop(end.stop)) result = await this.#score(end);
    const state = this.#state;
    if (state !== undefined && this.#env.close !== undefined && !this.#isFinished) {
      // not cancelled with the rest: what was opened must be closed
      const closed = await this.#call(() => this.#env.close!(state.value), neverAborted);
      if (closed.how !== "returned") result = { ...result, ...failed(closed), scores: this.#noScores() };
    }
    this.#isFinished = true;
    return result;
  }

  async #call<Value>(call: (signal: AbortSignal) => Value | Promise<Value>, parent = this.#signal) {
    if (parent.aborted) return { how: "cancelled" } as const;
    const own = lazySignal();
    return runWithin(() => call(own.get()), { parent, own, timeoutMs: this.#limits.envMs });
  }

  #actContext(said: Said, text: string, signal: AbortSignal) {
    const turn = this.#turns.length - 1;
    return {
      ...{ task: this.#task.data, state: this.#state!.value, rng: this.#rng, signal },
      ...{ text, said, answer: said.answer, role: this.#role },
      ...{ turn, turnsLeft: this.#limits.turns - turn - 1 },
    };
  }

  async #acted(acted: Acted, draft: Draft, sampledTokens: number): Promise<Move | EpisodeEnd> {
    draft.reward += acted.reward ?? 0;
    if (acted.info !== undefined) draft.info = acted.info;
    for (const [role, reward] of Object.entries(acted.rewards ?? {})) {
      const last = this.#turns.findLast((turn) => turn.role === role);
      if (last !== undefined) last.reward += reward;
    }
    draft.observation = this.#cut(acted.say ?? "");
    if (acted.done === true) return { stop: "completed" };
    const next = acted.next ?? this.#role;
    if (!this.#env.roles.includes(next)) {
      return { stop: "env-crash", failure: `next role "${next}" is none of ${this.#env.roles.join(", ")}` };
    }
    this.#role = next;
    return this.#move([{ role: "user", content: draft.observation }], sampledTokens);
  }

  async #runCalls(said: Said, draft: Draft, sampledTokens: number): Promise<Move | EpisodeEnd> {
    let isDone = false;
    const context = {
      state: this.#state!.value,
      rng: this.#rng,
      signal: this.#signal,
      reward: (value: number) => {
        draft.reward += value;
      },
      finish: (answer = "") => {
        isDone = true;
        this.#answer = answer;
      },
    };
    const records: CallRecord[] = [];
    draft.calls = records;
    for (const call of said.calls) {
      if (call.kind === "malformed" && this.#env.malformed === "stop") return { stop: "parse-error" };
      const result = await callTool(this.#env.tools!, call, context, this.#limits);
      if (result.kind === "stopped") return { stop: result.stop, failure: result.failure };
      records.push(result.record);
      if (isDone) break;
    }
    draft.observation = records.map(({ observation }) => observation).join("\n");
    if (isDone) return { stop: "completed" };
    const messages = records.map(({ name, observation }): Message => ({ role: "tool", name, content: observation }));
    return this.#move(messages, sampledTokens);
  }

  #move(messages: readonly Message[], sampledTokens: number): Move | EpisodeEnd {
    if (this.#turns.length >= this.#limits.turns) return { stop: "max-turns" };
    const isFirst = !this.#met.has(this.#role);
    this.#met.add(this.#role);
    const reminder = this.#env.remind?.({
      turns: this.#limits.turns - this.#turns.length,
      tokens: this.#limits.tokens - sampledTokens,
    });
    const reminded =
      reminder === undefined ? messages : [...messages.slice(0, -1), extended(messages.at(-1)!, reminder)];
    const system = isFirst ? this.#system() : "";
    return {
      role: this.#role,
      messages: system === "" ? reminded : [{ role: "system", content: system }, ...reminded],
    };
  }

  #system(): string {
    const own = this.#env.system?.(this.#task.data, this.#role) ?? "";
    return [own, this.#instructions].filter((text) => text !== "").join("\n\n");
  }

  async #score({ stop, failure }: EpisodeEnd): Promise<EpisodeResult> {
    const scores: Record<string, Score> = {};
    for (const role of this.#env.roles) {
      const turns = this.#turns.filter((turn) => turn.role === role);
      const outcome = await this.#call((signal) => this.#scoreRole(role, turns, stop, signal));
      if (outcome.how !== "returned") return { ...failed(outcome), turns: this.#turns, scores: this.#noScores() };
      scores[role] = withTurnRewards(outcome.value, turns);
      const wrong = Object.entries(scores[role].parts).find(([, part]) => !Number.isFinite(part));
      if (wrong !== undefined) {
        const failure = `score part "${wrong[0]}" is ${wrong[1]}, not a finite number`;
        return { stop: "env-crash", failure, turns: this.#turns, scores: this.#noScores() };
      }
    }
    return { stop, ...(failure === undefined ? {} : { failure }), turns: this.#turns, scores };
  }

  #scoreRole(role: string, turns: readonly EpisodeTurn[], stop: StopReason, signal: AbortSignal) {
    return (
      this.#env.score?.({
        ...{ task: this.#task.data, state: this.#state!.value, role, answer: this.#answer, stop, signal },
        turns: turns.map((turn) => ({ ...turn, span: { start: 0, end: 0 } })),
      }) ?? {}
    );
  }

  #noScores(): Record<string, Score> {
    return Object.fromEntries(this.#env.roles.map((role) => [role, { total: 0, parts: {}, success: false }]));
  }

  #cut(text: string): string {
    return cutText(text, this.#limits.observationChars);
  }
}

const neverAborted = new AbortController().signal;

function extended(message: Message, text: string): Message {
  return { ...message, content: message.content === "" ? text : `${message.content}\n${text}` };
}

function failed(outcome: Exclude<Ended, { how: "returned" }>): EpisodeEnd {
  switch (outcome.how) {
    case "threw":
      return { stop: "env-crash", failure: describe(outcome.error) };
    case "timeout":
      return { stop: "env-timeout", failure: "the environment did not answer within limits.envMs" };
    case "cancelled":
      return { stop: "cancelled" };
    default:
      return outcome satisfies never;
  }
}

function describe(error: unknown): string {
  return error instanceof Error ? (error.stack ?? error.message) : String(error);
}

function withTurnRewards(given: ScoreParts, turns: readonly EpisodeTurn[]): Score {
  const reward = turns.reduce((sum, turn) => sum + turn.reward, 0);
  const more = turns.some((turn) => turn.reward !== 0) ? { turns: reward } : {};
  if (typeof given === "number") return makeScore({ outcome: given, ...more }, given >= 1);
  if (isScore(given)) return { ...given, total: given.total + reward, parts: { ...given.parts, ...more } };
  const said = makeScore(given);
  return { ...makeScore({ ...given, ...more }), success: Object.keys(given).length > 0 ? said.success : reward >= 1 };
}

function isScore(given: Exclude<ScoreParts, number>): given is Score {
  return typeof given.total === "number" && typeof given.parts === "object";
}
