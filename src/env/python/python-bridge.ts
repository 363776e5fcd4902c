import { type ChildProcessWithoutNullStreams, spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { z } from "zod";
import { parseBoundedJson } from "../../bounded-json.ts";
import { LudusError } from "../../errors.ts";

const Reply = z.object({
  id: z.number(),
  ok: z.record(z.string(), z.unknown()).optional(),
  error: z
    .object({ kind: z.enum(["missing-package", "unknown-environment", "bad-data", "exception"]), message: z.string() })
    .optional(),
});

/** From `src/` and from `dist/` alike. */
const script = fileURLToPath(new URL("../../../worker/ludus_worker/env_bridge.py", import.meta.url));
const notStarted = "did not start";
const keptLines = 20;
/** How long a bridge may take to say that it is there, after it did not answer in time. */
const pingMs = 5_000;

type Fields = Readonly<Record<string, unknown>>;

/** The Python that was asked for, else `LUDUS_ENVIRONMENTS`, else `LUDUS_PYTHON`, else `.venv`, else what is on the path. */
export function chosenPython(asked: string | undefined): string {
  const local = `${process.cwd()}/.venv/bin/python`;
  const { LUDUS_ENVIRONMENTS: own, LUDUS_PYTHON: common } = process.env;
  return asked ?? (own || common || (existsSync(local) ? local : "python3"));
}

interface Waiting {
  readonly reply: PromiseWithResolvers<Fields>;
  readonly from: string;
}

/** A process of Python with many episodes in it. One that ends takes its episodes along; the next request starts another. */
export class PythonBridge {
  readonly #python: string;
  readonly #program: string;
  #child: BridgeProcess | undefined;

  /** `program` is another bridge, for tests. */
  constructor(python: string, program = script) {
    this.#python = python;
    this.#program = program;
  }

  /** Where an episode is: it ends with its process. */
  process(): BridgeProcess {
    if (this.#child === undefined || this.#child.hasEnded) this.#child = new BridgeProcess(this.#python, this.#program);
    return this.#child;
  }

  close(): void {
    this.#child?.close();
    this.#child = undefined;
  }
}

export class BridgeProcess {
  readonly #python: string;
  readonly #child: ChildProcessWithoutNullStreams;
  readonly #waiting = new Map<number, Waiting>();
  readonly #lines: string[] = [];
  #nextId = 0;
  #end: string | undefined;

  constructor(python: string, program: string) {
    this.#python = python;
    this.#child = spawn(python, [program], { env: { ...process.env, PYTHONUNBUFFERED: "1" } });
    // writing to a process that has ended fails; "close" says so
    this.#child.stdin.on("error", () => {});
    createInterface(this.#child.stdout).on("line", (line) => this.#receive(line));
    createInterface(this.#child.stderr).on("line", (line) => {
      this.#lines.push(line);
      if (this.#lines.length > keptLines) this.#lines.shift();
    });
    this.#child.on("error", (error) => this.#ended(`${notStarted}: ${error.message}`));
    this.#child.on("close", (code, signal) =>
      this.#ended(signal === null ? `ended with ${code}` : `was ended by ${signal}`),
    );
    this.#hold();
  }

  get hasEnded(): boolean {
    return this.#end !== undefined;
  }

  get pid(): number | undefined {
    return this.#child.pid;
  }

  async request(from: string, message: Fields, signal: AbortSignal): Promise<Fields> {
    signal.throwIfAborted();
    if (this.#end !== undefined) throw this.#lost();
    const id = this.#nextId++;
    const reply = Promise.withResolvers<Fields>();
    this.#waiting.set(id, { reply, from });
    this.#hold();
    const giveUp = () => {
      this.#waiting.delete(id);
      reply.reject(signal.reason);
      if (message.op !== "ping") this.#checkAlive();
    };
    signal.addEventListener("abort", giveUp, { once: true });
    try {
      this.#child.stdin.write(`${JSON.stringify({ id, ...message })}\n`);
      return await reply.promise;
    } finally {
      signal.removeEventListener("abort", giveUp);
      this.#waiting.delete(id);
      this.#hold();
    }
  }

  close(): void {
    this.#child.stdin.end();
    this.#child.kill("SIGKILL");
  }

  /** One that holds Python's lock for ever answers nobody: it is ended, and its episodes with it. */
  #checkAlive(): void {
    if (this.#end !== undefined) return;
    this.request("", { op: "ping" }, AbortSignal.timeout(pingMs)).catch(() => this.#child.kill("SIGKILL"));
  }

  /** A program may end while the bridge has nothing to do; it ends with its input. */
  #hold(): void {
    const streams = [this.#child.stdin, this.#child.stdout, this.#child.stderr] as unknown as NodeJS.RefCounted[];
    for (const each of [this.#child, ...streams]) this.#waiting.size > 0 ? each.ref() : each.unref();
  }

  #receive(line: string): void {
    let read: z.infer<typeof Reply>;
    try {
      read = Reply.parse(parseBoundedJson(line));
    } catch {
      this.#lines.push(`an answer that cannot be read: ${line.slice(0, 200)}`);
      this.#child.kill("SIGKILL");
      return;
    }
    const waiting = this.#waiting.get(read.id);
    if (read.error === undefined) waiting?.reply.resolve(read.ok ?? {});
    else waiting?.reply.reject(this.#failure(read.error, waiting.from));
  }

  #failure({ kind, message }: NonNullable<z.infer<typeof Reply>["error"]>, from: string): LudusError {
    switch (kind) {
      case "missing-package":
        return new LudusError("python-packages", {
          got: `${this.#python} without ${message}`,
          expected: `the package ${message}`,
          hint: `Run: ${this.#python} -m pip install ${message}. Another Python: \`python\`, or LUDUS_ENVIRONMENTS.`,
        });
      case "unknown-environment":
        return new LudusError("unknown-env", {
          got: JSON.stringify(message),
          expected: `an environment of ${from}`,
          hint: `See ludus env list --from ${from}.`,
        });
      case "bad-data":
        return new LudusError("bad-benchmark-data", { got: message, expected: `the published files of ${from}` });
      case "exception":
        return new LudusError("python-exception", { got: message, expected: `an answer of ${from}` });
      default:
        return kind satisfies never;
    }
  }

  #ended(how: string): void {
    if (this.#end !== undefined) return;
    this.#end = how;
    for (const { reply } of this.#waiting.values()) reply.reject(this.#lost());
  }

  #lost(): LudusError {
    if (this.#end?.startsWith(notStarted)) {
      return new LudusError("python-bridge-lost", {
        got: `a Python (${this.#python}) that ${this.#end}`,
        expected: "a Python that starts",
        hint: "It is the one that `python` names, else LUDUS_ENVIRONMENTS, LUDUS_PYTHON, .venv or python3.",
      });
    }
    const last = this.#lines.slice(-5).join("\n");
    return new LudusError("python-bridge-lost", {
      got: `a Python (${this.#python}) that ${this.#end}`,
      expected: "one that runs until it is closed",
      hint: `Its episodes are lost; the next one starts it again.${last === "" ? "" : ` It said last:\n${last}`}`,
    });
  }
}
