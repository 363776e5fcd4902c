import { type ChildProcess, spawn } from "node:child_process";
import { createInterface } from "node:readline";
import type { Readable } from "node:stream";
import { LudusError } from "../../src/errors.ts";
import { type Memory, readMemory } from "./memory.ts";
import { coresOfOthers, readProcessorTime } from "./processor-time.ts";
import { Ready, Reply, type Request, Run, type TimedRun } from "./protocol.ts";

/** A process that computes one workload at a time, when asked to, and uses no processor in between. */
export interface Child {
  prepare(request: Omit<Extract<Request, { do: "prepare" }>, "do">): Promise<Ready>;
  run(): Promise<TimedRun>;
  memory(): Memory | undefined;
  close(): void;
}

export interface ChildOptions {
  /** For messages. */
  label: string;
  command: string;
  args: readonly string[];
  env?: Record<string, string>;
  signal: AbortSignal;
}

export function startChild({ label, command, args, env, signal }: ChildOptions): Child {
  // a process group of its own: Ctrl-C reaches only us, and what the child has started goes with it
  const child = spawn(command, args, { detached: true, stdio: "pipe", env: { ...process.env, ...env } });
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  const lastWords = keepTail(child.stderr);
  child.stdin.on("error", () => {}); // it has ended, which reading its next line tells
  child.on("error", (error) => lastWords.push(error.message));
  const close = () => endGroup(child);
  signal.addEventListener("abort", close, { once: true });

  const ask = async (request: Request): Promise<Reply> => {
    child.stdin.write(`${JSON.stringify(request)}\n`);
    const line = await lines.next();
    signal.throwIfAborted();
    const reply =
      line.done === true ? { error: `it ended. ${lastWords.join("")}` } : Reply.parse(JSON.parse(line.value));
    if (!("error" in reply)) return reply;
    throw new LudusError("child-failed", { got: `from ${label}: ${reply.error}`, expected: "a measurement" });
  };
  return {
    prepare: async (request) => Ready.parse(await ask({ do: "prepare", ...request })),
    run: async () => await watchOthers(child.pid, async () => Run.parse(await ask({ do: "run" }))),
    memory: () => (child.pid === undefined ? undefined : readMemory(child.pid)),
    close() {
      signal.removeEventListener("abort", close);
      close();
    },
  };
}

async function watchOthers(pid: number | undefined, run: () => Promise<Run>): Promise<TimedRun> {
  const read = () => (pid === undefined ? undefined : readProcessorTime(pid));
  const [before, start] = [read(), performance.now()];
  const done = await run();
  const [after, seconds] = [read(), (performance.now() - start) / 1000];
  if (before === undefined || after === undefined) return done;
  const processorSeconds = after.process - before.process;
  return { ...done, coresOfOthers: coresOfOthers(before, after, seconds), processorSeconds };
}

function endGroup(child: ChildProcess): void {
  try {
    if (child.pid !== undefined) process.kill(-child.pid, "SIGKILL");
  } catch {
    child.kill("SIGKILL");
  }
}

/** The last of what was written, for the message when something fails. */
function keepTail(stream: Readable): string[] {
  const tail: string[] = [];
  stream.setEncoding("utf8").on("data", (text: string) => {
    tail.push(text);
    if (tail.length > 20) tail.shift();
  });
  return tail;
}
