import { type ChildProcess, spawn } from "node:child_process";
import { delimiter, dirname, join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";

/** What a program answered, and how it ended. */
export interface Answer {
  readonly said: string;
  readonly status: number | null;
}

/** A program that goes on until it is stopped. */
export interface Server {
  readonly address: string;
  stop(): Promise<void>;
}

/** What a server prints when it is ready, or an address that answers then. */
export type Ready = { readonly prints: RegExp } | { readonly answers: string };

const tickMs = 10_000;
const startMs = 300_000;
const patienceMs = 20_000;
const running = new Set<ChildProcess>();

/** Runs a line as a user would type it; `bin` is a folder of programs that comes first on the path. */
export async function run(line: string, folder: string, bin?: string): Promise<Answer> {
  const child = start(line, folder, bin);
  const output = listen(child);
  const stopTicks = tick(line);
  try {
    const status = await new Promise<number | null>((resolve, reject) => {
      child.once("error", reject);
      child.once("close", resolve);
    });
    return { said: output(), status };
  } finally {
    stopTicks();
  }
}

/** Starts a program that goes on, and waits until it is ready. */
export async function serve(line: string, folder: string, ready: Ready): Promise<Server> {
  const child = start(line, folder);
  const output = listen(child);
  const stopTicks = tick(line);
  try {
    for (let waited = 0; waited < startMs; waited += 200) {
      const address = await readyAt(ready, output());
      if (address !== undefined) return { address, stop: () => stop(child) };
      if (hasEnded(child)) break;
      await wait(200);
    }
  } finally {
    stopTicks();
  }
  await stop(child);
  throw new Error(`${line}: it did not start\n${output().slice(-4000)}`);
}

/** Ends whatever is still running, at once. */
export function killAll(): void {
  for (const child of running) signalGroup(child, "SIGKILL");
}

async function readyAt(ready: Ready, said: string): Promise<string | undefined> {
  if ("prints" in ready) return ready.prints.exec(said)?.[0];
  const isUp = await fetch(ready.answers).then(
    ({ ok }) => ok,
    () => false,
  );
  return isUp ? new URL(ready.answers).origin : undefined;
}

/** In a process group of its own, with the Node that runs this program first on the path. */
function start(line: string, folder: string, bin?: string): ChildProcess {
  const path = [...(bin === undefined ? [] : [bin]), dirname(process.execPath), process.env.PATH ?? ""].join(delimiter);
  const outer = /^npm_(package_|lifecycle_|command$|execpath$|node_execpath$|config_)|^INIT_CWD$|^VITEST|^NODE_ENV$/;
  const kept = Object.entries(process.env).filter(([name]) => !outer.test(name));
  const env = { ...Object.fromEntries(kept), PATH: path, npm_config_prefer_offline: "true" };
  const child = spawn("bash", ["-c", line], { cwd: folder, env, stdio: ["ignore", "pipe", "pipe"], detached: true });
  running.add(child);
  child.once("close", () => running.delete(child));
  return child;
}

function listen(child: ChildProcess): () => string {
  let said = "";
  for (const stream of [child.stdout!, child.stderr!]) {
    stream.setEncoding("utf8");
    stream.on("data", (chunk: string) => {
      said += chunk;
    });
  }
  return () => said;
}

function tick(line: string): () => void {
  const started = performance.now();
  const timer = setInterval(() => {
    process.stderr.write(`  … ${line.slice(0, 60)}: ${Math.round((performance.now() - started) / 1000)} s\n`);
  }, tickMs);
  return () => clearInterval(timer);
}

/** As Ctrl-C would; what does not listen is ended. */
async function stop(child: ChildProcess): Promise<void> {
  if (!running.has(child)) return;
  const ended = new Promise((resolve) => child.once("close", resolve));
  signalGroup(child, "SIGINT");
  const timer = setTimeout(() => signalGroup(child, "SIGKILL"), patienceMs);
  await ended;
  clearTimeout(timer);
}

function signalGroup(child: ChildProcess, signal: NodeJS.Signals): void {
  try {
    process.kill(-child.pid!, signal);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ESRCH") throw error;
  }
}

function hasEnded({ exitCode, signalCode }: ChildProcess): boolean {
  return exitCode !== null || signalCode !== null;
}

/** The folder of programs that a project's packages brought. */
export function binOf(project: string): string {
  return join(project, "node_modules/.bin");
}
