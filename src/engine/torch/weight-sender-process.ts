import { type ChildProcessWithoutNullStreams, spawn } from "node:child_process";
import { createInterface } from "node:readline";
import { z } from "zod";
import { LudusError } from "../../errors.ts";
import { findPython } from "./find-python.ts";
import type { WeightSender, WeightsInfo } from "./weight-sender.ts";

export interface WeightSenderOptions {
  readonly device?: string;
  readonly dtype?: string;
  readonly python?: string;
}

const Answer = z.union([z.object({ ok: z.unknown() }), z.object({ error: z.string() })]);
const Info = z.object({
  names: z.array(z.string()),
  dtype_names: z.array(z.string()),
  shapes: z.array(z.array(z.number())),
});

/** The sender in a Python process of its own: `ludus_worker/send_weights.py`. */
export function startWeightSender({ device = "cuda", dtype = "bfloat16", python }: WeightSenderOptions): WeightSender {
  const found = findPython(python, false);
  const args = ["-m", "ludus_worker.send_weights", "--device", device, "--dtype", dtype];
  return new ProcessSender(spawn(found.python, args, { env: { ...process.env, ...found.env } }));
}

/** One command at a time, a line of JSON each way. */
export class ProcessSender implements WeightSender {
  readonly #child: ChildProcessWithoutNullStreams;
  readonly #waiting: { resolve(value: unknown): void; reject(error: unknown): void }[] = [];
  readonly #last: string[] = [];
  #end: LudusError | undefined;

  constructor(child: ChildProcessWithoutNullStreams) {
    this.#child = child;
    child.stdin.on("error", () => {});
    createInterface(child.stdout).on("line", (line) => this.#take(line));
    createInterface(child.stderr).on("line", (line) => {
      this.#last.push(line);
      if (this.#last.length > 8) this.#last.shift();
    });
    child.once("error", (error) => this.#fail(`did not start: ${error.message}`));
    child.once("close", (code, signal) =>
      this.#fail(signal === null ? `ended with ${code}` : `was ended by ${signal}`),
    );
  }

  async identify(): Promise<string> {
    return z.string().parse(await this.#ask({ do: "identify" }));
  }

  async join(worldSize: number): Promise<void> {
    await this.#ask({ do: "join", world_size: worldSize });
  }

  async describe(directory: string): Promise<WeightsInfo> {
    return Info.parse(await this.#ask({ do: "describe", directory }));
  }

  async send(directory: string): Promise<void> {
    await this.#ask({ do: "send", directory });
  }

  async close(): Promise<void> {
    if (this.#end !== undefined) return;
    const closed = new Promise<void>((done) => this.#child.once("close", () => done()));
    // a process that waits in NCCL does not see that its input ended
    this.#child.kill("SIGKILL");
    await closed;
  }

  #ask(command: object): Promise<unknown> {
    if (this.#end !== undefined) return Promise.reject(this.#end);
    const answer = new Promise((resolve, reject) => this.#waiting.push({ resolve, reject }));
    this.#child.stdin.write(`${JSON.stringify(command)}\n`);
    return answer;
  }

  #take(line: string): void {
    const read = Answer.safeParse(parsed(line));
    // a library may print: only answers are read
    if (!read.success) return;
    const waiting = this.#waiting.shift();
    if ("error" in read.data) waiting?.reject(gone(read.data.error));
    else waiting?.resolve(read.data.ok);
  }

  #fail(how: string): void {
    this.#end ??= gone(`${how}. ${this.#last.join("\n")}`.trim());
    for (const { reject } of this.#waiting.splice(0)) reject(this.#end);
  }
}

function gone(what: string): LudusError {
  return new LudusError("sampler-gone", {
    got: `the process that sends weights: ${what}`,
    expected: "one that sends them",
  });
}

function parsed(line: string): unknown {
  try {
    return JSON.parse(line);
  } catch {
    return undefined;
  }
}
