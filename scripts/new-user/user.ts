import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { stripVTControlCharacters } from "node:util";
import { binOf, type Ready, run, type Server, serve } from "./shell.ts";

/** A line that a user types, what has to come of it, and how much of the answer is kept. */
export interface Step {
  /** The folder, from the user's own. */
  readonly in: string;
  readonly say: string;
  /** Whose packages `npx` finds, where the folder has none. */
  readonly from?: string;
  /** What is prepared before, unseen. */
  readonly before?: () => void;
  /** The exit status; 0 by default. */
  readonly status?: number;
  /** What has to be in the answer, and in the lines of it that are kept. */
  readonly expect?: readonly RegExp[];
  /** Whether the answer has to be a single line. */
  readonly oneLine?: boolean;
  /** Lines of the answer that are kept: the beginning and more of the end; with `top`, the beginning alone. */
  readonly lines?: number;
  readonly top?: boolean;
  readonly quiet?: boolean;
}

/** What was recorded of a part. */
export interface Recording {
  readonly title: string;
  readonly ms: number;
  /** Markdown, below the title. */
  readonly text: string;
}

/** Does what a user does, checks what comes of it, and writes it down. */
export class User {
  readonly home: string;
  readonly #names: Readonly<Record<string, string>>;
  readonly #texts: string[] = [];
  #lines: string[] = [];
  #ms = 0;

  /** `names` are what stands in the transcript in place of paths of this machine. */
  constructor(home: string, names: Readonly<Record<string, string>>) {
    this.home = home;
    this.#names = names;
  }

  async does(steps: readonly Step[]): Promise<void> {
    for (const step of steps) await this.#step(step);
  }

  /** Something done by hand, told in a line. */
  byHand(say: string, act: () => void): void {
    process.stderr.write(`${say}\n`);
    act();
    this.#lines.push(say);
  }

  /** A file that the user writes, shown as `cat` would. */
  writes(path: string, text: string): void {
    process.stderr.write(`writes ${path}\n`);
    mkdirSync(dirname(join(this.home, path)), { recursive: true });
    writeFileSync(join(this.home, path), text);
    this.#lines.push(`$ cat ${path.slice(path.indexOf("/") + 1)}`, ...text.trimEnd().split("\n"));
  }

  /** What an earlier recording left, gone. */
  clears(...paths: readonly string[]): void {
    for (const path of paths) rmSync(join(this.home, path), { recursive: true, force: true });
  }

  /** Starts a server, does something with it, and stops it as Ctrl-C would. */
  async serves(say: string, folder: string, ready: Ready, use: (server: Server) => Promise<void>): Promise<void> {
    process.stderr.write(`${folder}$ ${say} &\n`);
    const started = performance.now();
    const server = await serve(say, join(this.home, folder), ready);
    const ms = performance.now() - started;
    this.#ms += ms;
    const printed = "prints" in ready ? [this.#named(server.address)] : [];
    this.#lines.push(`$ ${this.#named(say)} &`, ...printed, `(ready after ${seconds(ms)})`);
    try {
      await use(server);
    } finally {
      await server.stop();
    }
  }

  /** Fetches a page as a browser would first, and says how that went. */
  async fetches(address: string): Promise<void> {
    const started = performance.now();
    const response = await fetch(address);
    const size = (await response.arrayBuffer()).byteLength;
    const ms = Math.round(performance.now() - started);
    if (!response.ok) throw new Error(`${address}: expected the page, got ${response.status}`);
    this.notes(`The page answered ${response.status} with ${size} bytes in ${ms} ms.`);
  }

  notes(markdown: string): void {
    this.#closeBlock();
    this.#texts.push(markdown);
  }

  recording(title: string): Recording {
    this.#closeBlock();
    return { title, ms: this.#ms, text: this.#texts.join("\n\n") };
  }

  #closeBlock(): void {
    if (this.#lines.length > 0) this.#texts.push(`\`\`\`text\n${this.#lines.join("\n")}\n\`\`\``);
    this.#lines = [];
  }

  async #step(step: Step): Promise<void> {
    const { in: folder, say, from, status: wanted = 0, lines = 10, top = false, quiet = false } = step;
    step.before?.();
    process.stderr.write(`${folder}$ ${say}\n`);
    const started = performance.now();
    const typed = say.replace(/^cd \S+ && /, "");
    const bin = from === undefined ? undefined : binOf(join(this.home, from));
    const line = bin === undefined ? typed : typed.replace(/^npx /, "");
    const { said, status } = await run(line, join(this.home, folder), bin);
    const ms = performance.now() - started;
    const answer = this.#tidy(said);
    process.stderr.write(`${answer.join("\n")}\n(exit status ${status}, ${seconds(ms)})\n`);
    const shown = quiet ? [] : cut(answer, lines, top);
    check(step, answer, shown, status);
    this.#ms += ms;
    const told = [...(wanted === 0 ? [] : [`exit status ${status}`]), ...(ms < 100 ? [] : [seconds(ms)])];
    this.#lines.push(`$ ${this.#named(say)}`, ...shown, ...(told.length === 0 ? [] : [`(${told.join(", ")})`]));
  }

  #named(text: string): string {
    const named = Object.entries(this.#names).reduce((told, [path, name]) => told.replaceAll(path, name), text);
    return named
      .replaceAll(this.home, "~")
      .replaceAll(/(127\.0\.0\.1:|--port )\d+/g, "$1<port>")
      .replaceAll(/([?&#]token=)[\w-]+/g, "$1…");
  }

  /** Without colours, paths of this machine, what was overwritten on the line, and what npm says of its own configuration. */
  #tidy(said: string): string[] {
    const lines = this.#named(stripVTControlCharacters(said)).split("\n");
    const kept = lines
      .map((line) => line.trimEnd().split("\r").at(-1)!)
      .filter((line) => !/^npm (warn|notice)/.test(line));
    while (kept[0] === "") kept.shift();
    while (kept.at(-1) === "") kept.pop();
    return kept;
  }
}

function check(step: Step, answer: readonly string[], shown: readonly string[], status: number | null): void {
  const { say, status: wanted = 0, expect = [], oneLine = false } = step;
  const [text, kept] = [answer.join("\n"), shown.join("\n")];
  const missing = expect.filter((pattern) => !pattern.test(text));
  const cutOff = expect.filter((pattern) => !missing.includes(pattern) && !pattern.test(kept));
  const wrong = [
    ...(status === wanted ? [] : [`expected exit status ${wanted}, got ${status}`]),
    ...missing.map((pattern) => `expected an answer that matches ${pattern}`),
    ...cutOff.map((pattern) => `expected ${pattern} among the lines that are kept; keep more`),
    ...(oneLine && answer.length !== 1 ? [`expected one line, got ${answer.length}`] : []),
  ];
  if (wrong.length > 0) throw new Error(`${say}: ${wrong.join("; ")}. It answered:\n${text}`);
}

function cut(lines: readonly string[], most: number, top: boolean): string[] {
  if (lines.length <= most) return [...lines];
  if (top) return [...lines.slice(0, most - 1), "…"];
  const first = Math.ceil((most - 1) / 3);
  return [...lines.slice(0, first), "…", ...lines.slice(lines.length - (most - 1 - first))];
}

export function seconds(ms: number): string {
  return ms < 60_000
    ? `${(ms / 1000).toFixed(1)} s`
    : `${Math.floor(ms / 60_000)} min ${Math.round((ms % 60_000) / 1000)} s`;
}
