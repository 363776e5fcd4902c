import { defined } from "../defined.ts";
import type { Env, Limits } from "../env/env.ts";
import { Episode, type EpisodeEnd, type Move } from "../env/episode.ts";
import { errorStack } from "../errors.ts";
import type { CallFormat } from "../policy/call-format.ts";
import { createRng } from "../random.ts";
import type { Guidance, Task } from "../schema/task.ts";
import { seedOf } from "../task/seeds.ts";
import { lazySignal, runWithin } from "../tool/run-within.ts";
import { keepAll } from "./context.ts";
import { Conversation } from "./conversation.ts";
import { DeadlineSignal } from "./deadline-signal.ts";
import type { Policy, RenderContext, Rollout, RolloutOptions, TurnTiming } from "./rollout.ts";
import { runsItself } from "./self-run.ts";
import { engineSpeaker, type Speaker, type Utterance } from "./speaker.ts";
import { startGate } from "./start-gate.ts";

/** One attempt of a policy at a task. Never throws: whatever goes wrong is the rollout's stop reason. */
export async function runRollout<Data, State>(
  env: Env<Data, State>,
  task: Task<Data>,
  policy: Policy,
  options: RolloutOptions,
): Promise<Rollout<Data>> {
  if (runsItself(env)) return env.attempt(task, policy, options);
  try {
    return await runTurns(env, task, policy, options, engineSpeaker(policy, options));
  } finally {
    for (const role of env.roles) {
      // not waited for: it may be queued behind others' sampling, and an engine that fails says so where it matters
      policy.engine.release({ rollout: `${options.id}/${role}` }).catch(() => {});
    }
  }
}

/** The same with any speaker: experts, people, scripts. */
export async function runTurns<Data, State>(
  env: Env<Data, State>,
  task: Task<Data>,
  renderContext: RenderContext,
  options: RolloutOptions,
  speaker: Speaker,
): Promise<Rollout<Data>> {
  await startGate();
  const started = performance.now();
  const limits = { ...env.limits, ...options.limits };
  const format = options.format ?? env.format;
  const deadline = new DeadlineSignal(limits.episodeMs, options.signal);
  const { signal } = deadline;
  try {
    const episode = new Episode(env, task, { signal, limits, format, ...defined({ sandbox: options.sandbox }) });
    const hint = task.guidance === undefined ? {} : { guidance: task.guidance };
    const play = new Play(episode as Episode, renderContext, { ...options, format, limits, signal, ...hint }, speaker);
    const { turns, scores, ...end } = await episode.finish(await play.run());
    const { stop, failure } = end.stop === "cancelled" && deadline.isTimeUp ? timeIsUp : end;
    const why = failure === undefined ? {} : { failure };
    const common = { rollout: options.id, taskId: task.id, stop, temperature: options.temperature ?? 1, ...why };
    const domain = task.domain === undefined ? {} : { domain: task.domain };
    const trajectories = [...play.conversations].flatMap(([role, conversation]) => {
      const weights = renderContext.weights?.[role] ?? "policy";
      return conversation.trajectories({ ...common, ...domain, role, weights, score: scores[role] }, turns);
    });
    const timing = { sampleMs: play.sampleMs, totalMs: performance.now() - started, turns: play.turnsSince(started) };
    return { id: options.id, task, trajectories, stop, timing, ...why };
  } finally {
    deadline.clear();
  }
}

interface PlayOptions extends RolloutOptions {
  limits: Limits;
  format: CallFormat;
  signal: AbortSignal;
  /** Told to the role that begins. */
  guidance?: Guidance;
}

/** The loop: read, speak, act, until somebody stops it. */
class Play {
  readonly conversations = new Map<string, Conversation>();
  sampleMs = 0;
  readonly #episode: Episode;
  readonly #renderContext: RenderContext;
  readonly #options: PlayOptions;
  readonly #speaker: Speaker;
  /** Whether the last turn of each role ended by itself. */
  readonly #ended = new Map<string, boolean>();
  readonly #times: TurnTiming[] = [];
  #sampled = 0;

  constructor(episode: Episode, renderContext: RenderContext, options: PlayOptions, speaker: Speaker) {
    this.#episode = episode;
    this.#renderContext = renderContext;
    this.#options = options;
    this.#speaker = speaker;
  }

  turnsSince(started: number): TurnTiming[] {
    return this.#times.map(({ role, startMs, saidMs, endMs }) => {
      return { role, startMs: startMs - started, saidMs: saidMs - started, endMs: endMs - started };
    });
  }

  async run(): Promise<EpisodeEnd> {
    let next = await this.#episode.start();
    try {
      while ("role" in next) next = await this.#takeTurn(next);
      return next;
    } catch (error) {
      // of the engine or the renderer, for episodes do not throw
      const failure = errorStack(error);
      return { stop: "engine-error", failure };
    }
  }

  async #takeTurn({ role, messages }: Move): Promise<Move | EpisodeEnd> {
    const { renderer, engine } = this.#renderContext;
    const { limits, signal, context = keepAll(), guidance } = this.#options;
    if (signal.aborted) return { stop: "cancelled" };
    const hint = this.conversations.size === 0 ? guidance : undefined;
    const conversation =
      this.conversations.get(role) ?? new Conversation(renderer, this.#episode.templateTools, context, hint);
    this.conversations.set(role, conversation);
    const prompt = conversation.read(messages, this.#ended.get(role) ?? true);
    const room = engine.info.contextLength - prompt.length;
    if (room <= 0) return { stop: "context-full" };
    const allowed = Math.min(limits.turnTokens, limits.tokens - this.#sampled);
    if (allowed <= 0) return { stop: "max-tokens" };
    const startMs = performance.now();
    const spoken = await this.#speak(role, prompt, Math.min(room, allowed));
    if (!("tokens" in spoken)) return spoken;
    const saidMs = performance.now();
    const next = await this.#hear(conversation, role, spoken, room < allowed);
    this.#times.push({ role, startMs, saidMs, endMs: performance.now() });
    return next;
  }

  async #speak(role: string, prompt: Int32Array, maxTokens: number): Promise<Utterance | EpisodeEnd> {
    const turn = this.#episode.turns.length;
    const seed = seedOf(this.#options.seed, "turn", turn);
    const forced = this.#forcedTokens(seed, maxTokens - 1);
    const { signal, format } = this.#options;
    const { stopStrings } = format;
    const request = { prompt, maxTokens: maxTokens - forced.length, seed, role, stopStrings, forced, signal };
    const before = performance.now();
    // an engine that does not listen to the signal cannot hold the rollout
    const within = { parent: signal, own: lazySignal(), timeoutMs: Number.POSITIVE_INFINITY };
    const spoken = await runWithin(() => this.#speaker(request, this.#episode), within);
    this.sampleMs += performance.now() - before;
    if (spoken.how === "returned") return spoken.value;
    if (spoken.how === "threw" && !signal.aborted) throw spoken.error;
    return { stop: "cancelled" };
  }

  async #hear(conversation: Conversation, role: string, spoken: Utterance, isContextShort: boolean) {
    const { tokens, mask, logprobs, versions, stop } = spoken;
    const text = this.#renderContext.renderer.read(tokens);
    conversation.say({ kind: "said", tokens, mask, logprobs, versions, turn: this.#episode.turns.length });
    this.#sampled += tokens.length;
    this.#ended.set(role, stop === "stop-token");
    if (stop === "stop-token" || stop === "stop-string") return this.#episode.step(text, this.#sampled);
    this.#episode.noteCutOff(text);
    return { stop: stop === "context-full" || isContextShort ? "context-full" : "max-tokens" } as const;
  }

  /** Exploration: now and then the beginning of a call of a random tool. */
  #forcedTokens(seed: number, most: number): Int32Array {
    const { epsilonTool = 0, format } = this.#options;
    const { tools } = this.#episode;
    if (epsilonTool === 0 || tools.length === 0 || format.open === undefined) return none;
    const rng = createRng(seedOf(seed, "epsilon", 0));
    if (rng.next() >= epsilonTool) return none;
    const { renderer } = this.#renderContext;
    const opening = renderer.say(format.open(tools[rng.integer(tools.length)].name));
    return opening.slice(0, Math.min(most, opening.length - renderer.say("").length));
  }
}

const none = new Int32Array(0);
const timeIsUp: EpisodeEnd = { stop: "episode-timeout", failure: "the episode took longer than limits.episodeMs" };
