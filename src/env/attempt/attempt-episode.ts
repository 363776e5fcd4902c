import { defined } from "../../defined.ts";
import { policyWeights } from "../../engine/engine.ts";
import { errorStack } from "../../errors.ts";
import type { CallFormat } from "../../policy/call-format.ts";
import { createRng } from "../../random.ts";
import { fullContext } from "../../rollout/context.ts";
import { Conversation } from "../../rollout/conversation.ts";
import { DeadlineSignal } from "../../rollout/deadline-signal.ts";
import type { Limits } from "../../rollout/limits.ts";
import type {
  PlayedRollout,
  Policy,
  RenderContext,
  Rollout,
  RolloutOptions,
  TurnTiming,
} from "../../rollout/rollout.ts";
import { engineSpeaker, type Speaker, truncationOf, type Utterance } from "../../rollout/speaker.ts";
import { startGate } from "../../rollout/start-gate.ts";

import type { Hint } from "../../schema/annotations.ts";
import type { Task } from "../../schema/task.ts";
import { seedOf } from "../../task/seeds.ts";
import { lazySignal, runWithin } from "../../tool/run-within.ts";
import type { Env } from "../env.ts";
import { Episode, type EpisodeEnd, type Move } from "../episode.ts";

/** An attempt of a policy, turn by turn. Never throws: whatever goes wrong is the rollout's stop reason. */
export async function attemptEpisode<Data, State>(
  env: Env<Data, State>,
  task: Task<Data>,
  policy: Policy,
  options: RolloutOptions,
): Promise<PlayedRollout<Data>> {
  try {
    return await playEpisode(env, task, policy, options, engineSpeaker(policy, options));
  } finally {
    for (const role of env.roles) {
      // not waited for: it may be queued behind others' sampling, and an engine that fails says so where it matters
      policy.engine.release({ rollout: `${options.id}/${role}` }).catch(() => {});
    }
  }
}

/** The same with any speaker: experts, people, scripts. */
export async function playEpisode<Data, State>(
  env: Env<Data, State>,
  task: Task<Data>,
  renderContext: RenderContext,
  options: RolloutOptions,
  speaker: Speaker<Episode>,
): Promise<PlayedRollout<Data>> {
  await startGate();
  const started = performance.now();
  const limits = { ...env.limits, ...options.limits };
  const format = options.format ?? env.format;
  const deadline = new DeadlineSignal(limits.episodeMs, options.signal);
  const { signal } = deadline;
  const sampled = new Map<string, number>();
  const { sandbox, training } = options;
  const sampledTokens = (role: string) => sampled.get(role) ?? 0;
  const episode = new Episode(env, task, { signal, limits, format, sampledTokens, ...defined({ sandbox, training }) });
  const playOptions = { ...options, format, limits, signal, sampled, ...defined({ hint: task.annotations?.hint }) };
  const play = new Play(episode as Episode, renderContext, playOptions, speaker);
  const played = await play.run();

  const score = async (): Promise<Rollout<Data>> => {
    // the deadline holds for scoring too
    const { turns, scores, ...end } = await episode.finish(played).finally(() => deadline.clear());
    const { stop, failure } = end.stop === "cancelled" && deadline.isTimeUp ? timeIsUp : end;
    const common = {
      rollout: options.id,
      taskId: task.id,
      stop,
      temperature: options.temperature ?? 1,
      ...defined({ failure, domain: task.domain, truncation: truncationOf(options) }),
    };
    const trajectories = [...play.conversations].flatMap(([role, conversation]) => {
      const weights = renderContext.weights?.[role] ?? policyWeights;
      return conversation.trajectories({ ...common, role, weights, score: scores[role] }, turns);
    });
    const timing = { sampleMs: play.sampleMs, totalMs: performance.now() - started, turns: play.turnsSince(started) };
    return { id: options.id, task, trajectories, stop, timing, ...defined({ failure }) };
  };
  let scored: Promise<Rollout<Data>> | undefined;
  return {
    id: options.id,
    task,
    stop: played.stop,
    score() {
      scored ??= score();
      return scored;
    },
  };
}

interface PlayOptions extends RolloutOptions {
  limits: Limits;
  format: CallFormat;
  signal: AbortSignal;
  /** Tokens sampled so far, by role. */
  sampled: Map<string, number>;
  /** Told to the role that begins. */
  hint?: Hint;
}

/** The loop: read, speak, act, until somebody stops it. */
class Play {
  readonly conversations = new Map<string, Conversation>();
  sampleMs = 0;
  readonly #episode: Episode;
  readonly #renderContext: RenderContext;
  readonly #options: PlayOptions;
  readonly #speaker: Speaker<Episode>;
  /** Whether the last turn of each role ended by itself. */
  readonly #ended = new Map<string, boolean>();
  readonly #times: TurnTiming[] = [];
  #sampled = 0;

  constructor(episode: Episode, renderContext: RenderContext, options: PlayOptions, speaker: Speaker<Episode>) {
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
    const { limits, signal, context = fullContext() } = this.#options;
    if (signal.aborted) return { stop: "cancelled" };
    const hint = this.conversations.size === 0 ? this.#options.hint : undefined;
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
    const { sampled } = this.#options;
    sampled.set(role, (sampled.get(role) ?? 0) + mask.reduce((sum, m) => sum + m, 0));
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
