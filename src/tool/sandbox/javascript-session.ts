import { randomUUID } from "node:crypto";
import { basename, dirname, join } from "node:path";
import type { Readable } from "node:stream";
import { fileURLToPath } from "node:url";
import { requireBubblewrap } from "./bubblewrap-available.ts";
import { type HeldMount, holdMount } from "./bubblewrap-mount.ts";
import { startWrapped, type Wrapped } from "./bubblewrap-run.ts";
import { defaultBoxUid } from "./bubblewrap-sandbox.ts";
import { entryUrl } from "./entry-url.ts";
import { type JavaScriptTestsLine, readLine } from "./javascript-tests-lines.ts";
import type { JavaScriptTestLimits } from "./limits.ts";
import { spawnGroup } from "./process-group.ts";
import type { End } from "./sandbox.ts";
import { treeMb, watchMemory } from "./watch-memory.ts";

/** What Node itself has in memory beside the heap, generously. */
const overheadMb = 160;
const startMs = 10_000;

/** Why a session ended; `finished` when the child said so, `cancelled` by `stop`. */
export type SessionEnd = { kind: "finished" } | End;

/** At which level the code runs. */
export type TestLevel = "process" | "namespace";

export interface SessionRequest {
  level: TestLevel;
  code: string;
  expressions: readonly string[];
  limits: JavaScriptTestLimits;
  /** Ends the session; the caller knows why. */
  stop: AbortSignal;
  onLine(line: JavaScriptTestsLine): void;
}

/** One child process that evaluates the expressions in order, until it has done so or one of them ends it. */
export async function runSession(request: SessionRequest): Promise<SessionEnd> {
  const { level, limits } = request;
  if (level === "process") return await followSession(request, startPlain(limits));
  await requireBubblewrap();
  const held = await holdMount({ image: undefined, uid: defaultBoxUid, diskMb: 16, readable: shown() });
  try {
    const wrapped = startBoxed(limits, held);
    try {
      return await followSession(request, wrapped);
    } finally {
      wrapped.release();
    }
  } finally {
    await held.close();
  }
}

type Started = Pick<Wrapped, "group" | "measure">;

function startPlain({ heapMb }: JavaScriptTestLimits): Started {
  const args = nodeArgs(heapMb, fileURLToPath(new URL(".", import.meta.url)));
  const group = spawnGroup(process.execPath, args, { env: {}, cwd: "/", stdio: ["pipe", "pipe", "pipe", "pipe"] });
  return { group };
}

// where a box sees Node and the files of this folder
const [nodeInside, codeInside] = ["/run/ludus/node", "/run/ludus/code"];
const shown = () => ({
  [nodeInside]: process.execPath,
  [codeInside]: dirname(fileURLToPath(entryUrl("javascript-tests-entry"))),
});

function startBoxed({ heapMb }: JavaScriptTestLimits, { enter, view }: HeldMount): Wrapped {
  return startWrapped({
    file: nodeInside,
    args: nodeArgs(heapMb, codeInside),
    cwd: "/",
    env: {},
    enter,
    view,
    limits: { memoryMb: heapMb + overheadMb, processes: 64 },
    pipes: 4,
  });
}

async function followSession(
  { code, expressions, limits, stop, onLine }: SessionRequest,
  { group, measure = treeMb }: Started,
): Promise<SessionEnd> {
  const { child } = group;
  let end: SessionEnd | undefined;
  const kill = (reason: SessionEnd) => {
    end ??= reason;
    group.kill();
  };
  const timeout = () => kill({ kind: "timeout", afterMs: limits.testMs });
  const onStop = () => kill({ kind: "cancelled" });
  const outOfMemory: End = { kind: "out-of-memory", limitMb: limits.heapMb };
  const late: End = { kind: "not-started", name: "StartTimeout", message: `it did not start within ${startMs} ms` };
  let timer = setTimeout(() => kill(late), startMs);
  stop.addEventListener("abort", onStop, { once: true });
  const unwatch =
    child.pid === undefined
      ? () => {}
      : watchMemory(child.pid, limits.heapMb + overheadMb, () => kill(outOfMemory), measure);

  const secret = randomUUID();
  let printed = "";
  let bytes = 0;
  const count = (chunk: Buffer) => {
    bytes += chunk.byteLength;
    if (bytes > limits.outputBytes) kill({ kind: "output-limit", bytes });
    return bytes <= limits.outputBytes;
  };
  child.stdout?.on("data", count);
  child.stderr?.on("data", (chunk: Buffer) => {
    if (count(chunk)) printed += chunk;
  });
  readLines(child.stdio[3] as Readable, count, (text) => {
    const line = readLine(text, secret);
    if (line === undefined || end !== undefined) return;
    clearTimeout(timer);
    if (line.kind === "started") timer = setTimeout(timeout, limits.testMs);
    if (line.kind === "finished" || line.kind === "not-compiled") end = { kind: "finished" };
    onLine(line);
  });
  child.stdin?.end(JSON.stringify({ secret, code, expressions }));

  const ended = await group.ended;
  clearTimeout(timer);
  stop.removeEventListener("abort", onStop);
  unwatch();
  if (end !== undefined) return end;
  return printed.includes("JavaScript heap out of memory") ? outOfMemory : ended;
}

/**
 * Not a boundary by themselves: the permission model denies files, processes, threads and addons, but a process under it can still open
 * connections and send signals. The flags close the ways out of a realm that are known to us.
 */
function nodeArgs(heapMb: number, folder: string): string[] {
  return [
    "--permission",
    `--allow-fs-read=${join(folder, "*")}`,
    "--frozen-intrinsics",
    "--disallow-code-generation-from-strings",
    `--max-old-space-size=${heapMb}`,
    "--no-warnings",
    join(folder, basename(fileURLToPath(entryUrl("javascript-tests-entry")))),
  ];
}

function readLines(stream: Readable, accept: (chunk: Buffer) => boolean, onLine: (text: string) => void): void {
  let rest = "";
  const decoder = new TextDecoder();
  stream.on("data", (chunk: Buffer) => {
    if (!accept(chunk)) return;
    const lines = (rest + decoder.decode(chunk, { stream: true })).split("\n");
    rest = lines.pop() ?? "";
    for (const line of lines) onLine(line);
  });
}
