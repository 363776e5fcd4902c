import { defined } from "../../defined.ts";
import type { Limits } from "../../rollout/limits.ts";
import type { Task } from "../../schema/task.ts";
import type { Env } from "../env.ts";
import { Episode, type EpisodeEnd, type EpisodeResult, type Move } from "../episode.ts";

/** What to say now; undefined gives up. */
export type Player = (episode: Episode, turn: number) => string | undefined;

/** One episode, as far as it must be the same when it is repeated. */
export interface Transcript {
  readonly heard: readonly (Move | EpisodeEnd)[];
  readonly turns: EpisodeResult["turns"];
  readonly stop: EpisodeResult["stop"];
  readonly scores: EpisodeResult["scores"];
}

export interface Play {
  readonly transcript: Transcript;
  readonly texts: readonly string[];
  readonly failure: string | undefined;
  /** What was waited for longest, or held this thread; no text is the start or the end. */
  readonly slowest: { readonly ms: number; readonly text?: string };
}

export interface PlayOptions {
  readonly limits: Limits;
  /** However long an episode may be. */
  readonly maxTurns: number;
}

/**
 * Plays episodes at the same time, one turn of each after the other. A player that throws is the caller's to catch; the
 * episodes are closed first.
 */
export async function playTogether(
  env: Env,
  playedTasks: readonly { readonly task: Task; readonly player: Player }[],
  options: PlayOptions,
): Promise<Play[]> {
  const players = playedTasks.map(({ task, player }) => new EpisodePlayer(env, task, player, options));
  try {
    for (const player of players) await player.start();
    while (players.some((player) => player.isPlaying)) for (const player of players) await player.step();
  } finally {
    for (const player of players) await player.finish();
  }
  return players.map((player) => player.result);
}

export const recite =
  (texts: readonly string[]): Player =>
  (_, turn) =>
    texts[turn];

const { signal } = new AbortController();

class EpisodePlayer {
  readonly #episode: Episode;
  readonly #player: Player;
  readonly #maxTurns: number;
  readonly #heard: (Move | EpisodeEnd)[] = [];
  readonly #texts: string[] = [];
  #next: Move | EpisodeEnd = { stop: "cancelled" };
  #finished: EpisodeResult | undefined;
  #slowest: Play["slowest"] = { ms: 0 };

  constructor(env: Env, task: Task, player: Player, { limits, maxTurns }: PlayOptions) {
    this.#episode = new Episode(env, task, { signal, limits });
    this.#player = player;
    this.#maxTurns = maxTurns;
  }

  get isPlaying(): boolean {
    return "role" in this.#next;
  }

  async start(): Promise<void> {
    this.#hear(await this.#timed(() => this.#episode.start()));
  }

  async step(): Promise<void> {
    if (!this.isPlaying) return;
    const turn = this.#texts.length;
    const text = turn < this.#maxTurns ? this.#player(this.#episode, turn) : undefined;
    if (text === undefined) {
      this.#next = { stop: "max-turns" };
      return;
    }
    this.#texts.push(text);
    this.#hear(await this.#timed(() => this.#episode.step(text), text));
  }

  async finish(): Promise<void> {
    const end = "role" in this.#next ? { stop: "cancelled" as const } : this.#next;
    this.#finished = await this.#timed(() => this.#episode.finish(end));
  }

  get result(): Play {
    const { turns, stop, scores, failure } = this.#finished!;
    const transcript = { heard: this.#heard, turns, stop, scores };
    return { transcript, failure, texts: this.#texts, slowest: this.#slowest };
  }

  #hear(next: Move | EpisodeEnd): void {
    this.#next = next;
    // stacks are not the environment's words
    this.#heard.push("role" in next ? next : { stop: next.stop });
  }

  async #timed<Value>(work: () => Promise<Value>, text?: string): Promise<Value> {
    const began = performance.now();
    const value = await work();
    const ms = performance.now() - began;
    if (ms > this.#slowest.ms) this.#slowest = { ms, ...defined({ text }) };
    return value;
  }
}
