import { bounds } from "../bounds.ts";
import { cutText } from "../cut-text.ts";
import { defined } from "../defined.ts";
import { errorStack, failureText } from "../errors.ts";
import { refuseUnknownOptions } from "../known-options.ts";
import type { Said, WantToSay } from "../policy/call-format.ts";
import { createRng, type Rng } from "../random.ts";
import type { EpisodeTurn } from "../rollout/conversation.ts";
import type { Limits } from "../rollout/limits.ts";
import type { TurnAnnotations } from "../schema/annotations.ts";
import type { Message, ToolSpec } from "../schema/message.ts";
import type { Score } from "../schema/score.ts";
import { isInfrastructureStop, type StopReason } from "../schema/stop-reason.ts";
import type { Task } from "../schema/task.ts";
import type { TrainingProgress } from "../schema/training-progress.ts";
import type { CallRecord } from "../schema/turn.ts";
import { hashText } from "../task/seeds.ts";
import { callTool } from "../tool/call-tool.ts";
import { type Ended, lazySignal, runWithin } from "../tool/run-within.ts";
import { EpisodeBox } from "../tool/sandbox/episode-box.ts";
import type { BoxSpec } from "../tool/sandbox/sandbox.ts";
import { runWatched } from "../tool/stray-rejections.ts";
import { checkObject, checkText } from "./check-returned.ts";
import { copyState } from "./copy-state.ts";
import type { Acted, Env, Start } from "./env.ts";
import { type EpisodeOptions, knownEpisodeOptions } from "./episode-options.ts";
import { withTurnRewards } from "./episode-score.ts";
import { joinInfo, type TurnInfo } from "./join-info.ts";

/** Who acts now, and what they have not read yet. */
export interface Move {
  readonly role: string;
  readonly messages: readonly Message[];
}

export interface EpisodeEnd {
  readonly stop: StopReason;
  readonly failure?: string;
}

export interface EpisodeResult extends EpisodeEnd {
  readonly turns: readonly EpisodeTurn[];
  readonly scores: Readonly<Record<string, Score>>;
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
  readonly #training: TrainingProgress | undefined;
  readonly #sampledTokens: (role: string) => number;
  readonly #box: EpisodeBox;
  readonly #options: EpisodeOptions;
  #rng: Rng;
  #expertRng: Rng;
  readonly #turns: Draft[] = [];
  readonly #met = new Set<string>();
  #state: { readonly value: State } | undefined;
  #role: string;
  /** The last of each role. */
  readonly #answers = new Map<string, string>();
  #result: Promise<EpisodeResult> | undefined;

  constructor(env: Env<Data, State>, task: Task<Data>, options: EpisodeOptions) {
    refuseUnknownOptions("Episode", options, knownEpisodeOptions);
    this.#env = env;
    this.#task = task;
    this.#options = options;
    this.#limits = options.limits ?? env.limits;
    this.#format = options.format ?? env.format;
    this.#signal = options.signal;
    this.#training = options.training;
    this.#sampledTokens = options.sampledTokens ?? (() => 0);
    this.#box = new EpisodeBox(options.sandbox);
    this.#rng = createRng(task.seed);
    this.#expertRng = createRng(task.seed ^ hashText("expert"));
    this.#role = env.roles[0];
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
      return { stop: "env-crash", failure: errorStack(error) };
    }
  }

  async #start(): Promise<Move | EpisodeEnd> {
    const { data } = this.#task;
    let opening: Start<State> | Promise<Start<State>> | undefined;
    const outcome = await this.#call((signal) => {
      opening = this.#env.start({ task: data, rng: this.#rng, signal });
      return opening;
    });
    if (outcome.how !== "returned") {
      // what opens too late is closed then, with nobody left to tell
      Promise.resolve(opening)
        .then((late) => late && this.#env.close?.(late.state))
        .catch(() => {});
      return failed(outcome);
    }
    const { state, say } = checkObject("start", outcome.value);
    this.#state = { value: state };
    return this.#move([{ role: "user", content: this.#cut(say) }], 0);
  }

  async #step(text: string, sampledTokens: number): Promise<Move | EpisodeEnd> {
    const draft: Draft = { role: this.#role, text, calls: [], reward: 0, observation: "" };
    // first of all: a turn that was taken is on record, whatever throws now
    this.#turns.push(draft);
    const said = this.#format.parse(text, this.tools);
    if (this.#env.stateKey !== undefined)
      draft.stateKey = checkText("stateKey", this.#env.stateKey(this.#state!.value));
    if (said.calls.length > 0 && this.#env.tools !== undefined) return this.#runCalls(said, draft, sampledTokens);
    this.#answers.set(this.#role, said.answer);
    if (this.#env.act === undefined) return { stop: "completed" };
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

  /**
   * The same episode once more, to be played on its own and finished. Its chance is that of `seed`, so that nobody who tries an action on
   * a copy learns what chance has in store for the episode itself.
   */
  async copy(seed: number, options: Pick<EpisodeOptions, "sampledTokens" | "tokensOf">): Promise<Episode<Data, State>> {
    const state = await copyState(this.#env, this.#state!.value, this.#box.isUsed);
    const copy = new Episode(this.#env, this.#task, { ...this.#options, ...options });
    copy.#state = { value: state };
    copy.#rng = createRng(seed);
    copy.#expertRng = createRng(seed ^ hashText("expert"));
    copy.#role = this.#role;
    copy.#turns.push(...this.#turns.map((turn) => ({ ...turn })));
    for (const role of this.#met) copy.#met.add(role);
    for (const [role, answer] of this.#answers) copy.#answers.set(role, answer);
    return copy;
  }

  /** Adds to what is recorded with the last turn. */
  annotate(annotations: TurnAnnotations): void {
    const turn = this.#turns.at(-1)!;
    turn.annotations = { ...turn.annotations, ...annotations };
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

  /** Scores and closes, once. Only what ended by the policy's own doing is scored. */
  finish(end: EpisodeEnd): Promise<EpisodeResult> {
    this.#result ??= this.#finish(end)
      .then((result) => this.#closeBox(result))
      .then(({ failure, ...result }) => ({ ...result, ...defined({ failure: failure && failureText(failure) }) }));
    return this.#result;
  }

  /** Last: scoring and `close` may still look into the box. */
  async #closeBox(result: EpisodeResult): Promise<EpisodeResult> {
    if (!this.#box.isUsed) return result;
    const closed = await this.#call(() => this.#box.close(), neverAborted);
    if (closed.how === "returned" || isInfrastructureStop(result.stop)) return result;
    const why = closed.how === "threw" ? errorStack(closed.error) : "it took longer than limits.envMs";
    return {
      ...result,
      stop: "tool-crash",
      failure: `the episode's box was not closed: ${why}`,
      scores: this.#noScores(),
    };
  }

  async #finish(end: EpisodeEnd): Promise<EpisodeResult> {
    const isSpoiled = isInfrastructureStop(end.stop);
    const result = isSpoiled ? { ...end, turns: this.#turns, scores: this.#noScores() } : await this.#score(end);
    const state = this.#state;
    if (state === undefined || this.#env.close === undefined) return result;
    // not cancelled with the rest: what was opened must be closed
    const closed = await this.#call(() => this.#env.close!(state.value), neverAborted);
    if (closed.how === "returned" || isInfrastructureStop(result.stop)) return result;
    return { ...result, ...failed(closed), scores: this.#noScores() };
  }

  async #call<Value>(call: (signal: AbortSignal) => Value | Promise<Value>, parent = this.#signal) {
    if (parent.aborted) return { how: "cancelled" } as const;
    const own = lazySignal();
    return runWithin(() => runWatched(`Environment "${this.#env.name}"`, () => call(own.get())), {
      parent,
      own,
      timeoutMs: this.#limits.envMs,
    });
  }

  #actContext(said: Said, text: string, signal: AbortSignal) {
    const turn = this.#turns.length - 1;
    return {
      task: this.#task.data,
      state: this.#state!.value,
      rng: this.#rng,
      signal,
      text,
      said,
      answer: said.answer,
      role: this.#role,
      turn,
      turnsLeft: this.#limits.turns - turn - 1,
    };
  }

  async #acted(acted: Acted, draft: Draft, sampledTokens: number): Promise<Move | EpisodeEnd> {
    const { reward = 0, rewards = {}, info, say = "", done = false, next = this.#role } = checkObject("act", acted);
    draft.reward += reward;
    if (info !== undefined) draft.info = info;
    for (const [role, reward] of Object.entries(rewards)) {
      this.#checkRole("rewards", role);
      const last = this.#turns.findLast((turn) => turn.role === role);
      if (last !== undefined) last.reward += reward;
    }
    draft.observation = this.#cut(say);
    if (done) return { stop: "completed" };
    this.#checkRole("next", next);
    this.#role = next;
    return this.#move([{ role: "user", content: draft.observation }], sampledTokens);
  }

  async #runCalls(said: Said, draft: Draft, sampledTokens: number): Promise<Move | EpisodeEnd> {
    let isDone = false;
    const context = {
      state: this.#state!.value,
      rng: this.#rng,
      signal: this.#signal,
      box: (spec?: BoxSpec) => this.#box.open(spec),
      reward: (value: number) => {
        draft.reward += value;
      },
      info: (facts: TurnInfo) => {
        draft.info = joinInfo(draft.info ?? {}, facts);
      },
      finish: (answer = "") => {
        isDone = true;
        this.#answers.set(this.#role, answer);
      },
    };
    const records: CallRecord[] = [];
    draft.calls = records;
    const { observationChars } = this.#limits;
    let room = Math.max(bounds.turnObservationChars, observationChars);
    for (const call of this.#allowed(said.calls)) {
      if (call.kind === "malformed" && this.#env.malformed === "stop") return { stop: "parse-error" };
      const limits = { ...this.#limits, observationChars: Math.min(observationChars, room) };
      const result = await callTool(this.#env.tools!, call, context, limits);
      if (result.kind === "stopped") return { stop: result.stop, failure: result.failure };
      records.push(result.record);
      room = Math.max(0, room - result.record.observation.length);
      if (isDone) break;
    }
    draft.observation = records.map(({ observation }) => observation).join("\n");
    if (isDone) return { stop: "completed" };
    const messages = records.map(({ name, observation }): Message => ({ role: "tool", name, content: observation }));
    return this.#move(messages, sampledTokens);
  }

  /** Calls beyond the limit are one malformed call, which the policy is told of. */
  #allowed(calls: Said["calls"]): Said["calls"] {
    const { callsPerTurn } = this.#limits;
    if (calls.length <= callsPerTurn) return calls;
    const problem = `${calls.length - callsPerTurn} calls were not made: a turn may make at most ${callsPerTurn}.`;
    return [...calls.slice(0, callsPerTurn), { kind: "malformed", text: "", problem }];
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
      scores[role] = outcome.value;
    }
    return { stop, ...defined({ failure }), turns: this.#turns, scores };
  }

  async #scoreRole(role: string, turns: readonly EpisodeTurn[], stop: StopReason, signal: AbortSignal): Promise<Score> {
    if (this.#env.score === undefined) return withTurnRewards({}, turns);
    const { tokensOf } = this.#options;
    const given = await this.#env.score({
      task: this.#task.data,
      state: this.#state!.value,
      role,
      answer: this.#answers.get(role) ?? "",
      stop,
      signal,
      turns: turns.map((turn) => ({ ...turn, span: { start: 0, end: 0 } })),
      sampledTokens: this.#sampledTokens(role),
      ...defined({ training: this.#training, tokens: tokensOf && (() => tokensOf(role, stop)) }),
    });
    return withTurnRewards(given, turns);
  }

  #noScores(): Record<string, Score> {
    return Object.fromEntries(this.#env.roles.map((role) => [role, { total: 0, parts: {}, success: false }]));
  }

  #cut(text: string): string {
    return cutText(checkText("say", text), this.#limits.observationChars);
  }

  #checkRole(field: string, role: string): void {
    const { roles } = this.#env;
    if (!roles.includes(role))
      throw new TypeError(`\`${field}\` names the role "${role}", none of ${roles.join(", ")}`);
  }
}

const neverAborted = new AbortController().signal;

function extended(message: Message, text: string): Message {
  return { ...message, content: message.content === "" ? text : `${message.content}\n${text}` };
}

function failed(outcome: Exclude<Ended, { how: "returned" }>): EpisodeEnd {
  switch (outcome.how) {
    case "threw":
      return { stop: "env-crash", failure: errorStack(outcome.error) };
    case "timeout":
      return { stop: "env-timeout", failure: "the environment did not answer within limits.envMs" };
    case "cancelled":
      return { stop: "cancelled" };
    default:
      return outcome satisfies never;
  }
}
