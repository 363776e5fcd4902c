import { type ChildProcessWithoutNullStreams, spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { LudusError } from "../../errors.ts";
import type { FoundPython } from "./find-python.ts";

export interface WorkerOptions {
  python: FoundPython;
  token: string;
  /** More than one starts them under torchrun. */
  processes: number;
  log: (line: string) => void;
}

const keptLines = 40;
const patienceMs = 5000;

/** A worker this program has started. It ends with `close`, and by itself when this program ends: its standard input closes. */
export class WorkerProcess {
  readonly #child: ChildProcessWithoutNullStreams;
  readonly #lines: string[] = [];
  readonly #exited: Promise<string>;
  readonly #processes: number;
  #end: string | undefined;

  constructor({ python, token, processes, log }: WorkerOptions) {
    this.#processes = processes;
    const launcher = ["-m", "torch.distributed.run", "--standalone", `--nproc-per-node=${processes}`];
    const args = [...(processes > 1 ? launcher : []), "-m", "ludus_worker", "--parent"];
    const own = { PYTHONUNBUFFERED: "1", TOKENIZERS_PARALLELISM: "false", LUDUS_WORKER_TOKEN: token };
    this.#child = spawn(python.python, args, { env: { ...process.env, ...python.env, ...own } });
    // writing to a worker that has exited fails; "close" reports the exit
    this.#child.stdin.on("error", () => {});
    createInterface(this.#child.stderr).on("line", (line) => {
      this.#lines.push(line);
      if (this.#lines.length > keptLines) this.#lines.shift();
      log(line);
    });
    this.#exited = new Promise((resolve) => {
      const end = (how: string) => {
        this.#end ??= how;
        resolve(this.#end);
      };
      this.#child.on("error", (error) => end(`did not start: ${error.message}`));
      this.#child.on("close", (code, signal) => end(signal === null ? `ended with ${code}` : `was ended by ${signal}`));
    });
  }

  get pid(): number | undefined {
    return this.#child.pid;
  }

  /** The port it listens at, once it does. */
  async port(): Promise<number> {
    const lines = createInterface(this.#child.stdout);
    const found = new Promise<number>((resolve) => {
      lines.on("line", (line) => {
        const port = /"ludus-worker": \{"port": (\d+)/.exec(line)?.[1];
        if (port !== undefined) resolve(Number(port));
      });
    });
    const first = await Promise.race([found, this.#exited.then(() => undefined)]);
    if (first === undefined) throw this.exitError("start()");
    return first;
  }

  /** Whether it is several processes under torchrun. */
  get hasRanks(): boolean {
    return this.#processes > 1;
  }

  /** Whether the process exits soon: a broken connection often means that it has. */
  async hasEnded(withinMs = 1000): Promise<boolean> {
    let timer: NodeJS.Timeout | undefined;
    const timeout = new Promise<void>((resolve) => {
      timer = setTimeout(resolve, withinMs);
    });
    await Promise.race([this.#exited, timeout]);
    clearTimeout(timer);
    return this.#end !== undefined;
  }

  exitError(during: string): LudusError {
    const last = this.#lines.filter((line) => line.trim() !== "").slice(-8);
    const rank = this.#processes > 1 ? firstFailure(this.#lines, this.#processes) : "";
    return new LudusError("worker-died", {
      got: `a worker that ${this.#end ?? "is gone"} during ${during}${rank}`,
      expected: "one that runs until close()",
      hint: `Make a new engine and load the last checkpoint: a run with \`run\` does when it is started again.${last.length > 0 ? ` The last lines of its log:\n${last.join("\n")}` : ""}`,
    });
  }

  async close(): Promise<void> {
    if (this.#end !== undefined) return;
    const closed = once(this.#child, "close");
    this.#child.stdin.end();
    this.#child.kill("SIGTERM");
    const timer = setTimeout(() => this.#child.kill("SIGKILL"), patienceMs);
    await closed;
    clearTimeout(timer);
  }
}

/** Which rank ended first, as torchrun's report says at its end; it ended the others then. */
function firstFailure(lines: readonly string[], processes: number): string {
  const root = lines.slice(lines.findLastIndex((line) => line.includes("Root Cause")));
  const rank = root.map((line) => /\brank\s*: (\d+)/.exec(line)?.[1]).find((found) => found !== undefined);
  const exit = root.map((line) => /exitcode\s*: (-?\d+)(?:.*\((SIG\w+)\))?/.exec(line)).find((found) => found !== null);
  if (rank === undefined || exit === undefined) return "";
  const how = exit[2] === undefined ? `ended with ${exit[1]}` : `was ended by ${exit[2]}`;
  return `: rank ${rank} of ${processes} ${how}`;
}
