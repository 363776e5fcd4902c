import { defined } from "../defined.ts";
import type { Env } from "../env/env.ts";
import { Episode, type EpisodeEnd, type EpisodeResult, type Move } from "../env/episode.ts";
import { errorText } from "../errors.ts";
import type { Task } from "../schema/task.ts";
import type { Terminal } from "./command.ts";
import { loadEnv } from "./load-env.ts";
import { harmless } from "./paint.ts";
import { usageError } from "./parse-options.ts";
import { moveText, resultText, type TokenView, tokenView, turnText } from "./play-text.ts";
import { type Lines, readLines } from "./read-lines.ts";
import { WatchedPage } from "./watched-page.ts";

export interface PlayOptions {
  readonly split?: string;
  readonly task?: number;
  readonly seed?: number;
  readonly style?: "tags" | "compact";
  readonly expert?: boolean;
  readonly tokens?: "compact" | "chat";
  /** The page of the episode can be looked at. */
  readonly watch?: boolean;
}

export interface PlayedEpisode extends EpisodeResult {
  readonly env: string;
  readonly task: Task;
}

/** Plays one episode at a terminal. */
export async function playAtTerminal(
  nameOrFile: string | undefined,
  options: PlayOptions,
  terminal: Terminal,
): Promise<PlayedEpisode> {
  const loaded = await loadEnv(nameOrFile, {
    ...defined({ style: options.style }),
    ...(options.watch && nameOrFile === "browser" && { pages: "chromium" }),
  });
  const watched = options.watch ? await WatchedPage.open() : undefined;
  const env = watched?.watching(loaded) ?? loaded;
  const { stdin: _, ...silent } = terminal;
  const lines = readLines(options.expert ? silent : terminal);
  try {
    const task = await chooseTask(env, options);
    if (watched !== undefined) terminal.stderr.write(`The page is at ${watched.url}\n`);
    const table = new Table(env, task, options, terminal, lines, () => watched?.refresh());
    return { env: env.name, task, ...(await table.play()) };
  } finally {
    lines.close();
    await watched?.close();
  }
}

const help =
  "Say something. ? lists what may be said, ! asks the expert, !! lets it speak, =words says them as an answer.";

async function chooseTask({ tasks }: Env, { split = "train", task: index = 0, seed }: PlayOptions): Promise<Task> {
  if (!tasks.splits.includes(split)) {
    throw usageError("unknown-split", { got: `"${split}"`, expected: `one of ${tasks.splits.join(", ")}` });
  }
  const task = await tasks.at(split, index);
  return seed === undefined ? task : { ...task, seed };
}

/** One person, or one expert, and one episode. */
class Table {
  readonly #env: Env;
  readonly #task: Task;
  readonly #episode: Episode;
  readonly #isExpert: boolean;
  readonly #terminal: Terminal;
  readonly #lines: Lines;
  readonly #tokens: TokenView | undefined;
  readonly #onTurn: () => Promise<void> | undefined;

  constructor(
    env: Env,
    task: Task,
    { expert = false, tokens }: PlayOptions,
    terminal: Terminal,
    lines: Lines,
    onTurn: () => Promise<void> | undefined,
  ) {
    this.#onTurn = onTurn;
    this.#env = env;
    this.#task = task;
    this.#episode = new Episode(env, task, { signal: new AbortController().signal });
    this.#isExpert = expert;
    this.#terminal = terminal;
    this.#lines = lines;
    this.#tokens = tokens && tokenView(tokens);
  }

  async play(): Promise<EpisodeResult> {
    this.#write(`[${this.#env.name}, task ${this.#task.id}, seed ${this.#task.seed}]\n`);
    if (!this.#isExpert) this.#write(`[${help}]\n`);
    try {
      const result = await this.#episode.finish(await this.#takeTurns());
      this.#write(resultText(result));
      return result;
    } finally {
      // does nothing unless something was thrown
      await this.#episode.finish({ stop: "cancelled" });
    }
  }

  async #takeTurns(): Promise<EpisodeEnd> {
    let next: Move | EpisodeEnd = await this.#episode.start();
    await this.#onTurn();
    while ("role" in next) {
      this.#write(moveText(next, this.#episode, this.#env.roles));
      if (this.#tokens !== undefined) this.#write(this.#tokens(next, this.#episode));
      const text = this.#isExpert ? this.#letExpertSpeak() : await this.#ask();
      if (text === undefined) return { stop: "cancelled" };
      next = await this.#episode.step(text);
      await this.#onTurn();
      this.#write(turnText(this.#episode, this.#env.limits.turns));
    }
    return next;
  }

  /** What is said now; nothing when whoever plays has gone. */
  async #ask(): Promise<string | undefined> {
    for (;;) {
      const line = await this.#lines.next();
      if (line === undefined) return undefined;
      const text = this.#understand(line);
      if (text !== undefined) return text;
    }
  }

  /** Nothing for what was a question, and is answered. */
  #understand(line: string): string | undefined {
    if (line === "?")
      this.#write(`${this.#attempt(() => this.#listed(), "The environment does not list them.") ?? ""}\n`);
    else if (line === "!") this.#write(`${this.#advice() ?? ""}\n`);
    else if (line === "!!") return this.#letExpertSpeak();
    else if (line.startsWith("=")) {
      const write = () => this.#env.format.write({ answer: line.slice(1) }, this.#episode.tools);
      return this.#attempt(write, "");
    } else return line;
    return undefined;
  }

  #listed(): string | undefined {
    const texts = this.#episode.possibleTexts();
    return texts.length === 0 ? undefined : texts.join("\n");
  }

  #advice(): string | undefined {
    const why = this.#env.expert === undefined ? "There is no expert." : "The expert is stuck.";
    return this.#attempt(() => this.#episode.expertSays(), why);
  }

  #letExpertSpeak(): string | undefined {
    const text = this.#advice();
    if (text !== undefined) this.#write(`> ${text}\n`);
    return text;
  }

  /** The text, or nothing and a word about why. */
  #attempt(make: () => string | undefined, otherwise: string): string | undefined {
    try {
      const text = make();
      if (text === undefined) this.#write(`[${otherwise}]\n`);
      return text;
    } catch (error) {
      this.#write(`[${errorText(error)}]\n`);
      return undefined;
    }
  }

  #write(text: string): void {
    this.#terminal.stdout.write(harmless(text));
  }
}
