import { errorStack } from "../../errors.ts";
import type { CallFormat } from "../../policy/call-format.ts";
import { createRng } from "../../random.ts";
import { fullContext } from "../../rollout/context.ts";
import { Conversation } from "../../rollout/conversation.ts";
import type { Limits } from "../../rollout/limits.ts";
import type { RenderContext, RolloutOptions, TurnTiming } from "../../rollout/rollout.ts";
import type { Speaker, Utterance } from "../../rollout/speaker.ts";
import type { Hint } from "../../schema/annotations.ts";
import { sum } from "../../statistics.ts";
import { seedOf } from "../../task/seeds.ts";
import { lazySignal, runWithin } from "../../tool/run-within.ts";
import type { Episode, EpisodeEnd, Move } from "../episode.ts";
import type { EpisodeOptions } from "../episode-options.ts";

export interface PlayOptions extends RolloutOptions {
  limits: Limits;
  format: CallFormat;
  signal: AbortSignal;
  /** Tokens sampled so far, by role. */
  sampled: Map<string, number>;
  /** Told to the role that begins. */
  hint?: Hint;
}

/** Whose turn it is, and what they have read. */
interface Due {
  readonly role: string;
  readonly prompt: Int32Array;
  readonly maxTokens: number;
  readonly isContextShort: boolean;
}

/** The loop: read, speak, act, until somebody stops it. Nothing here throws: what goes wrong is how it ended. */
export class Play {
  readonly episode: Episode;
  readonly conversations = new Map<string, Conversation>();
  sampleMs = 0;
  /** Undefined as long as somebody has to speak. */
  end: EpisodeEnd | undefined;
  readonly #renderContext: RenderContext;
  readonly #options: PlayOptions;
  readonly #speaker: Speaker<Episode>;
  /** Whether the last turn of each role ended by itself. */
  readonly #ended = new Map<string, boolean>();
  readonly #times: TurnTiming[] = [];
  #due: Due | undefined;
  #sampled = 0;

  constructor(episode: Episode, renderContext: RenderContext, options: PlayOptions, speaker: Speaker<Episode>) {
    this.episode = episode;
    this.#renderContext = renderContext;
    this.#options = options;
    this.#speaker = speaker;
  }

  turnsSince(started: number): TurnTiming[] {
    return this.#times.map(({ role, startMs, saidMs, endMs }) => {
      return { role, startMs: startMs - started, saidMs: saidMs - started, endMs: endMs - started };
    });
  }

  async run(): Promise<void> {
    await this.start();
    while (this.end === undefined) await this.takeTurn();
  }

  async start(): Promise<void> {
    try {
      this.#read(await this.episode.start());
    } catch (error) {
      this.#fail(error);
    }
  }

  async takeTurn(): Promise<void> {
    const startMs = performance.now();
    const spoken = await this.speak(seedOf(this.#options.seed, "turn", this.episode.turns.length));
    if (spoken !== undefined) await this.hear(spoken, startMs);
  }

  /** What is said now, without saying it; nothing where the play has come to an end instead. */
  async speak(seed: number): Promise<Utterance | undefined> {
    try {
      const spoken = await this.#speak(this.#due!, seed);
      if (spoken === undefined) this.end = { stop: "cancelled" };
      return spoken;
    } catch (error) {
      this.#fail(error);
      return undefined;
    }
  }

  /** Says it. */
  async hear(spoken: Utterance, startMs = performance.now()): Promise<void> {
    const due = this.#due!;
    const saidMs = performance.now();
    try {
      const next = await this.#hear(due, spoken);
      this.#times.push({ role: due.role, startMs, saidMs, endMs: performance.now() });
      this.#read(next);
    } catch (error) {
      this.#fail(error);
    }
  }

  /** The same play once more, to be gone on with apart. Throws where the environment cannot be copied. */
  async copy(
    options: Pick<PlayOptions, "id" | "seed">,
    speaker: Speaker<Episode>,
    tokensOf: (play: Play) => EpisodeOptions["tokensOf"],
  ): Promise<Play> {
    const sampled = new Map(this.#options.sampled);
    const sampledTokens = (role: string) => sampled.get(role) ?? 0;
    const episode = await this.episode.copy(seedOf(options.seed, "chance", 0), {
      sampledTokens,
      tokensOf: (role, stop) => tokensOf(copy)?.(role, stop) ?? [],
    });
    const copy: Play = new Play(episode, this.#renderContext, { ...this.#options, ...options, sampled }, speaker);
    for (const [role, conversation] of this.conversations) copy.conversations.set(role, conversation.copy());
    for (const [role, ended] of this.#ended) copy.#ended.set(role, ended);
    copy.#times.push(...this.#times);
    copy.#due = this.#due;
    copy.#sampled = this.#sampled;
    copy.end = this.end;
    return copy;
  }

  /** Of the engine or the renderer, for episodes do not throw. */
  #fail(error: unknown): void {
    this.end = { stop: "engine-error", failure: errorStack(error) };
  }

  #read(next: Move | EpisodeEnd): void {
    this.#due = undefined;
    if (!("role" in next)) {
      this.end = next;
      return;
    }
    const { role, messages } = next;
    const { renderer, engine } = this.#renderContext;
    const { limits, signal, context = fullContext() } = this.#options;
    if (signal.aborted) {
      this.end = { stop: "cancelled" };
      return;
    }
    const hint = this.conversations.size === 0 ? this.#options.hint : undefined;
    const conversation =
      this.conversations.get(role) ?? new Conversation(renderer, this.episode.templateTools, context, hint);
    this.conversations.set(role, conversation);
    const prompt = conversation.read(messages, this.#ended.get(role) ?? true);
    const room = engine.info.contextLength - prompt.length;
    const allowed = Math.min(limits.turnTokens, limits.tokens - this.#sampled);
    if (room <= 0) this.end = { stop: "context-full" };
    else if (allowed <= 0) this.end = { stop: "max-tokens" };
    else this.#due = { role, prompt, maxTokens: Math.min(room, allowed), isContextShort: room < allowed };
  }

  async #speak({ role, prompt, maxTokens }: Due, seed: number): Promise<Utterance | undefined> {
    const forced = this.#forcedTokens(seed, maxTokens - 1);
    const { signal, format } = this.#options;
    const { stopStrings } = format;
    const request = { prompt, maxTokens: maxTokens - forced.length, seed, role, stopStrings, forced, signal };
    const before = performance.now();
    // an engine that does not listen to the signal cannot hold the rollout
    const within = { parent: signal, own: lazySignal(), timeoutMs: Number.POSITIVE_INFINITY };
    const spoken = await runWithin(() => this.#speaker(request, this.episode), within);
    this.sampleMs += performance.now() - before;
    if (spoken.how === "returned") return spoken.value;
    if (spoken.how === "threw" && !signal.aborted) throw spoken.error;
    return undefined;
  }

  async #hear({ role, isContextShort }: Due, spoken: Utterance): Promise<Move | EpisodeEnd> {
    const { tokens, mask, logprobs, versions, stop } = spoken;
    const text = this.#renderContext.renderer.read(tokens);
    const conversation = this.conversations.get(role)!;
    conversation.say({ kind: "said", tokens, mask, logprobs, versions, turn: this.episode.turns.length });
    this.#sampled += tokens.length;
    const { sampled } = this.#options;
    sampled.set(role, (sampled.get(role) ?? 0) + sum(mask));
    this.#ended.set(role, stop === "stop-token");
    if (stop === "stop-token" || stop === "stop-string") return this.episode.step(text, this.#sampled);
    this.episode.noteCutOff(text);
    return { stop: stop === "context-full" || isContextShort ? "context-full" : "max-tokens" };
  }

  /** Exploration: now and then the beginning of a call of a random tool. */
  #forcedTokens(seed: number, most: number): Int32Array {
    const { epsilonTool = 0, format } = this.#options;
    const { tools } = this.episode;
    if (epsilonTool === 0 || tools.length === 0 || format.open === undefined) return none;
    const rng = createRng(seedOf(seed, "epsilon", 0));
    if (rng.next() >= epsilonTool) return none;
    const { renderer } = this.#renderContext;
    const opening = renderer.say(format.open(tools[rng.integer(tools.length)].name));
    return opening.slice(0, Math.min(most, opening.length - renderer.say("").length));
  }
}

const none = new Int32Array(0);
