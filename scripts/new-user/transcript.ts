import { type ChildProcess, spawn } from "node:child_process";
import { delimiter, dirname, join } from "node:path";
import { stripVTControlCharacters } from "node:util";

/** A line that a user types, or, with `do`, something a user would do by hand. */
export interface Step {
  /** The folder, from the user's own. */
  readonly in: string;
  readonly say: string;
  /** Whose packages `npx` finds, where the folder has none. */
  readonly from?: string;
  readonly do?: () => void;
  /** What is prepared before, unseen. */
  readonly before?: () => void;
  /** Lines of the output that are kept. */
  readonly lines?: number;
  readonly quiet?: boolean;
}

/** What a user typed, what was answered, and how long it took. */
export class Transcript {
  readonly #home: string;
  readonly #names: Readonly<Record<string, string>>;
  readonly #texts: string[] = [];
  readonly #times: [string, number][] = [];

  /** `names` are what stands in the transcript in place of paths of this machine. */
  constructor(home: string, names: Readonly<Record<string, string>>) {
    this.#home = home;
    this.#names = names;
  }

  async part(title: string, steps: readonly Step[]): Promise<void> {
    this.#texts.push(`## ${title}`);
    const started = performance.now();
    const blocks: string[] = [];
    for (const step of steps) blocks.push(await this.#step(step));
    this.#texts.push(`\`\`\`text\n${blocks.filter((block) => block !== "").join("\n")}\n\`\`\``);
    this.#times.push([title, performance.now() - started]);
  }

  async quietly(program: string, args: readonly string[], folder: string): Promise<void> {
    await this.#run([program, ...args].join(" "), folder);
  }

  /** Starts a program that goes on, and waits for the address it prints. */
  async serve(title: string, command: string, folder: string, address: RegExp) {
    const started = performance.now();
    const child = this.#spawn(command, folder);
    const [found] = await new Promise<RegExpExecArray>((resolve, reject) => {
      let said = "";
      child.stdout!.on("data", (chunk) => {
        said += chunk;
        const match = address.exec(said);
        if (match !== null) resolve(match);
      });
      child.once("error", reject);
      child.once("exit", (status) => reject(new Error(`${command} ended with ${status}`)));
    });
    this.#times.push([title, performance.now() - started]);
    const shown = found.replace(/([?&#]token=)[\w-]+/, "$1…").replace(/:\d+/, ":<port>");
    this.#texts.push(`## ${title}`, `\`\`\`text\n$ ${command}\n${shown}\n\`\`\``);
    return { address: found, stop: () => stop(child) };
  }

  /** Fetches a page as a browser would first, and says how that went. */
  async fetched(address: string): Promise<void> {
    const started = performance.now();
    const response = await fetch(address);
    const size = (await response.arrayBuffer()).byteLength;
    const ms = Math.round(performance.now() - started);
    if (!response.ok) throw new Error(`${address} answered ${response.status}`);
    this.note(`The page answered ${response.status} with ${size} bytes in ${ms} ms.`);
  }

  note(text: string): void {
    this.#texts.push(text);
  }

  markdown(): string {
    const rows = this.#times.map(([title, ms]) => `| ${title} | ${seconds(ms)} |`);
    const total = this.#times.reduce((sum, [, ms]) => sum + ms, 0);
    const table = ["| | |", "|---|--:|", ...rows, `| together | ${seconds(total)} |`].join("\n");
    return `${[table, ...this.#texts].join("\n\n")}\n`;
  }

  async #step({ in: folder, say, from, do: act, before, lines = 10, quiet = false }: Step): Promise<string> {
    before?.();
    process.stderr.write(`${folder}$ ${say}\n`);
    if (act !== undefined) {
      act();
      return say.startsWith("#") ? say : `$ ${say}`;
    }
    const started = performance.now();
    const said = await this.#run(say.replace(/^cd \S+ && /, ""), join(this.#home, folder), from);
    const took = seconds(performance.now() - started);
    process.stderr.write(`${said}\n(${took})\n`);
    const shown = quiet ? [] : cut(this.#tidy(said), lines);
    return [`$ ${this.#named(say)}`, ...shown, `(${took})`].join("\n");
  }

  async #run(command: string, folder: string, from?: string): Promise<string> {
    const child = this.#spawn(command, folder, from);
    let said = "";
    for (const stream of [child.stdout!, child.stderr!]) {
      stream.setEncoding("utf8");
      stream.on("data", (chunk: string) => {
        said += chunk;
      });
    }
    const status = await new Promise((resolve, reject) => {
      child.once("error", reject);
      child.once("close", resolve);
    });
    if (status !== 0) throw new Error(`${command} ended with ${status}:\n${said}`);
    return said;
  }

  /** In a process group of its own, with the Node that runs this program first on the path. */
  #spawn(command: string, folder: string, from?: string): ChildProcess {
    const own = from === undefined ? [] : [join(this.#home, from, "node_modules/.bin")];
    const path = [...own, dirname(process.execPath), process.env.PATH ?? ""].join(delimiter);
    const outer = /^npm_(package_|lifecycle_|command$|execpath$|node_execpath$|config_)|^INIT_CWD$|^VITEST|^NODE_ENV$/;
    const kept = Object.entries(process.env).filter(([name]) => !outer.test(name));
    const env = { ...Object.fromEntries(kept), PATH: path, npm_config_prefer_offline: "true" };
    const line = from === undefined ? command : command.replace(/^npx /, "");
    return spawn("bash", ["-c", line], { cwd: folder, env, stdio: ["ignore", "pipe", "pipe"], detached: true });
  }

  #named(text: string): string {
    return Object.entries(this.#names).reduce((told, [path, name]) => told.replaceAll(path, name), text);
  }

  /** Without colours, paths of this machine, and what npm says of its own configuration. */
  #tidy(said: string): string[] {
    const lines = this.#named(stripVTControlCharacters(said)).replaceAll(this.#home, "~").split("\n");
    const kept = lines.map((line) => line.trimEnd()).filter((line) => !/^npm (warn|notice)/.test(line));
    while (kept[0] === "") kept.shift();
    while (kept.at(-1) === "") kept.pop();
    return kept;
  }
}

/** The beginning and more of the end, where there is too much. */
function cut(lines: readonly string[], most: number): string[] {
  if (lines.length <= most) return [...lines];
  const first = Math.ceil((most - 1) / 3);
  return [...lines.slice(0, first), "…", ...lines.slice(lines.length - (most - 1 - first))];
}

function seconds(ms: number): string {
  return ms < 60_000
    ? `${(ms / 1000).toFixed(1)} s`
    : `${Math.floor(ms / 60_000)} min ${Math.round((ms % 60_000) / 1000)} s`;
}

/** As Ctrl-C would. */
async function stop(child: ChildProcess): Promise<void> {
  child.removeAllListeners("exit");
  const ended = new Promise((resolve) => child.once("close", resolve));
  process.kill(-child.pid!, "SIGINT");
  await ended;
}
