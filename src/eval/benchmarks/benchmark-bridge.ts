import { fileURLToPath } from "node:url";
import { type BridgeProcess, chosenPython, PythonBridge } from "../../env/python/python-bridge.ts";
import { LudusError } from "../../errors.ts";

/** From `src/` and from `dist/` alike. */
const script = fileURLToPath(new URL("../../../worker/ludus_worker/benchmark_bridge.py", import.meta.url));
const loadMs = 600_000;
const stepMs = 120_000;
const closeMs = 10_000;

type Fields = Readonly<Record<string, unknown>>;

/** One for each Python of this program, as `pythonEnv` has. */
const bridges = new Map<string, PythonBridge>();
let episodes = 0;

function bridge(): PythonBridge {
  const python = chosenPython(undefined);
  const made = bridges.get(python) ?? new PythonBridge(python, script);
  bridges.set(python, made);
  return made;
}

/** What the benchmark's own Python says about the files of a folder. */
export async function askPython(kind: string, folder: string, message: Fields = {}): Promise<Fields> {
  const signal = AbortSignal.timeout(loadMs);
  return timely(
    kind,
    bridge()
      .process()
      .request(kind, { op: "load", kind, folder, ...message }, signal),
    { signal, ms: loadMs },
  );
}

/** An attempt at a task in the benchmark's own Python. */
export interface PythonAttempt extends AsyncDisposable {
  /** What it said when it began. */
  readonly begun: Fields;
  ask(what: string, message?: Fields): Promise<Fields>;
}

export async function openPython(
  kind: string,
  folder: string,
  message: Fields,
  signal: AbortSignal,
): Promise<PythonAttempt> {
  const process = bridge().process();
  const episode = String(episodes++);
  const close = async () => {
    if (process.hasEnded) return;
    await process.request(kind, { op: "close", episode }, AbortSignal.timeout(closeMs)).catch(() => {});
  };
  try {
    const begun = await send(kind, process, { op: "start", kind, folder, episode, ...message }, signal);
    const ask: PythonAttempt["ask"] = (what, more = {}) => {
      return send(kind, process, { op: "do", what, episode, ...more }, signal);
    };
    return { begun, ask, [Symbol.asyncDispose]: close };
  } catch (error) {
    await close();
    throw error;
  }
}

async function send(kind: string, process: BridgeProcess, message: Fields, signal: AbortSignal): Promise<Fields> {
  const timeout = AbortSignal.timeout(stepMs);
  return timely(kind, process.request(kind, message, AbortSignal.any([signal, timeout])), {
    signal: timeout,
    ms: stepMs,
  });
}

async function timely(
  kind: string,
  reply: Promise<Fields>,
  timeout: { readonly signal: AbortSignal; readonly ms: number },
): Promise<Fields> {
  try {
    return await reply;
  } catch (error) {
    if (!timeout.signal.aborted) throw error;
    throw new LudusError("benchmark-timeout", {
      got: `no answer of ${kind}'s own Python`,
      expected: `one within ${timeout.ms / 1000} s`,
    });
  }
}
