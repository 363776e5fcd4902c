import { defined } from "../../defined.ts";
import type { Env } from "../../env/env.ts";
import { Episode, type EpisodeEnd, type EpisodeResult, type Move } from "../../env/episode.ts";
import { LudusError } from "../../errors.ts";
import { joinTokens } from "../../policy/join-tokens.ts";
import type { Renderer } from "../../policy/renderer.ts";
import type { Tokenizer } from "../../policy/tokenizer.ts";
import { fullContext } from "../../rollout/context.ts";
import { Conversation } from "../../rollout/conversation.ts";
import type { Message, Task } from "../../schema/index.ts";
import type { PlayAnswer, SuggestedToken, SuggestionAnswer } from "./answers.ts";
import type { CheckpointPolicy } from "./checkpoint-policies.ts";
import { finite } from "./finite.ts";
import { tokenTexts } from "./token-texts.ts";

export interface PlayContext {
  readonly renderer: Renderer;
  readonly tokenizer: Tokenizer;
  /** Whose checkpoint may be asked for advice. */
  readonly run?: { readonly directory: string; readonly step: number };
}

export interface SuggestOptions {
  readonly seed: number;
  readonly temperature: number;
  /** Tokens the turn begins with. */
  readonly given: readonly number[];
  readonly maxTokens?: number | undefined;
}

const topChoices = 6;

/** An episode that a person plays, with the tokens a policy in their place would see. */
export class PlaySession {
  readonly context: PlayContext;
  readonly #env: Env;
  readonly #task: Task;
  readonly #episode: Episode;
  readonly #stopping = new AbortController();
  readonly #messages: Message[] = [];
  readonly #conversations = new Map<string, { conversation: Conversation; ended: boolean }>();
  #prompt: Int32Array = new Int32Array(0);
  #next: Move | EpisodeEnd | undefined;
  #result: EpisodeResult | undefined;

  constructor(env: Env, task: Task, context: PlayContext) {
    this.#env = env;
    this.#task = task;
    this.context = context;
    this.#episode = new Episode(env, task, { signal: this.#stopping.signal });
  }

  async start(): Promise<void> {
    await this.#take(await this.#episode.start());
  }

  /** A person's words, made into tokens as if the policy had said them. */
  async say(text: string): Promise<void> {
    await this.#speak(this.context.renderer.say(text), text, true);
  }

  /** What the policy suggested, its tokens kept as they are. */
  async sayTokens(ids: readonly number[]): Promise<void> {
    const tokens = Int32Array.from(ids);
    const { renderer } = this.context;
    await this.#speak(tokens, renderer.read(tokens), renderer.stopTokens.includes(tokens.at(-1) ?? -1));
  }

  expertSays(): string | undefined {
    this.#move();
    return this.#episode.expertSays();
  }

  view(session: string): PlayAnswer {
    const { context } = this;
    const move = this.#next !== undefined && "role" in this.#next ? this.#next : undefined;
    return {
      session,
      env: this.#env.name,
      taskId: this.#task.id,
      tools: this.#episode.tools,
      ...defined({ role: move === undefined ? undefined : move.role }),
      messages: this.#messages,
      prompt: tokenTexts(context.tokenizer, this.#prompt).join(""),
      promptTokens: this.#prompt.length,
      possible: move === undefined ? [] : this.#episode.possibleTexts().slice(0, 40),
      hasExpert: this.#env.expert !== undefined,
      reward: this.#episode.turns.reduce((sum, { reward }) => sum + reward, 0),
      ...this.#end(),
      ...defined({ checkpoint: context.run === undefined ? undefined : context.run.step }),
    };
  }

  async suggest({ engine, tokenizer }: CheckpointPolicy, options: SuggestOptions): Promise<SuggestionAnswer> {
    this.#move();
    const { seed, temperature } = options;
    const { stopTokens } = this.context.renderer;
    const given = Int32Array.from(options.given);
    const room = Math.min(
      options.maxTokens ?? Number.POSITIVE_INFINITY,
      this.#env.limits.turnTokens - given.length,
      engine.info.contextLength - this.#prompt.length - given.length,
    );
    const isOver = stopTokens.includes(given.at(-1) ?? -1) || room <= 0;
    const start = joinTokens(this.#prompt, given);
    const { stopStrings } = this.#env.format;
    const sample = isOver
      ? undefined
      : await engine.sample({
          tokens: start,
          maxTokens: room,
          seed,
          temperature,
          stopTokens,
          ...defined({ stopStrings: stopStrings.length === 0 ? undefined : stopStrings }),
        });
    const said = sample === undefined ? given : joinTokens(given, sample.tokens);
    const tokens = await this.#choices(engine, tokenizer, said, given.length, temperature);
    return { text: this.context.renderer.read(said), stop: sample?.stop ?? "stop-token", tokens };
  }

  async close(): Promise<void> {
    this.#stopping.abort();
    await this.#episode.finish({ stop: "cancelled" });
  }

  /** One pass over all of it, so that tokens a person chose have their numbers too. */
  async #choices(
    engine: CheckpointPolicy["engine"],
    tokenizer: Tokenizer,
    said: Int32Array,
    given: number,
    temperature: number,
  ): Promise<SuggestedToken[]> {
    if (said.length === 0) return [];
    const tokens = joinTokens(this.#prompt, said);
    const start = this.#prompt.length;
    const mask = Array.from(tokens, (_, t) => (t >= start ? 1 : 0));
    const scale = temperature > 0 ? { temperature } : {};
    const forward = await engine.forward({ rows: [{ tokens, mask }] }, { alternatives: topChoices, ...scale });
    const alternatives = forward.alternatives_B_T?.[0];
    const texts = tokenTexts(tokenizer, said);
    return Array.from(
      said,
      (id, i): SuggestedToken => ({
        id,
        text: texts[i],
        logprob: finite(forward.logprobs_B_T[0][start + i]),
        isGiven: i < given,
        choices: Array.from({ length: alternatives?.count ?? 0 }, (_, k) => {
          const at = (start + i) * alternatives!.count + k;
          const choice = alternatives!.tokens[at];
          const text = tokenTexts(tokenizer, [choice])[0];
          return { id: choice, text, logprob: finite(alternatives!.logprobs[at]) };
        }),
      }),
    );
  }

  #end(): Pick<PlayAnswer, "end"> {
    if (this.#result === undefined) return {};
    const { stop, failure, scores } = this.#result;
    const score = scores[this.#env.roles[0]];
    return { end: { stop, score, ...defined({ failure }) } };
  }

  #move(): Move {
    if (this.#next !== undefined && "role" in this.#next) return this.#next;
    throw new LudusError("episode-over", { got: "a turn after the end", expected: "a new episode" });
  }

  async #speak(tokens: Int32Array, text: string, ended: boolean): Promise<void> {
    const { role } = this.#move();
    const spoken = this.#conversations.get(role)!;
    const T = tokens.length;
    spoken.conversation.say({
      kind: "said",
      tokens,
      turn: this.#episode.turns.length,
      mask: new Uint8Array(T),
      logprobs: new Float32Array(T),
      versions: new Int32Array(T).fill(-1),
    });
    spoken.ended = ended;
    this.#messages.push({ role: "assistant", content: text, name: role });
    await this.#take(await this.#episode.step(text));
  }

  async #take(next: Move | EpisodeEnd): Promise<void> {
    this.#next = next;
    if (!("role" in next)) {
      const last = this.#episode.turns.at(-1);
      if (last !== undefined && last.observation !== "") {
        this.#messages.push({ role: "tool", content: last.observation });
      }
      this.#result = await this.#episode.finish(next);
      return;
    }
    this.#messages.push(...next.messages);
    const { renderer } = this.context;
    const known = this.#conversations.get(next.role);
    const conversation = known?.conversation ?? new Conversation(renderer, this.#episode.templateTools, fullContext());
    this.#conversations.set(next.role, { conversation, ended: true });
    this.#prompt = conversation.read(next.messages, known?.ended ?? true);
  }
}
