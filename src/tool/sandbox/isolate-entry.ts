// The program inside a worker thread or child process: imports the module once, then answers calls.
import { AsyncLocalStorage } from "node:async_hooks";
import { deserialize, getHeapSpaceStatistics, getHeapStatistics, serialize } from "node:v8";
import { parentPort, workerData } from "node:worker_threads";
import { toErrorData } from "./error-data.ts";
import { exceedsBytes } from "./exceeds-bytes.ts";
import type { IsolateAnswer, IsolateArgs, IsolateCall, IsolateMessage, IsolateSetup } from "./isolate.ts";

type Target = (...args: IsolateArgs) => unknown;

const setup: IsolateSetup = parentPort === null ? JSON.parse(process.argv[2]) : workerData;
let printedBytes = 0;
const send = openChannel();
/** Which call started what is running: an error nobody caught is blamed on it and on no later call. */
const origin = new AsyncLocalStorage<number>();
let current: number | undefined;
let retire = false;

limitPrinting();
process.on("uncaughtException", onStray);
process.on("unhandledRejection", onStray);
const target = await load();
if (target !== undefined) {
  const listen = (call: IsolateCall) => void answer(target, call);
  if (parentPort === null) process.on("message", listen).on("disconnect", () => process.exit());
  else parentPort.on("message", listen);
  send({ type: "ready" });
}

function openChannel(): (message: IsolateMessage) => void {
  const port = parentPort;
  const post = port === null ? process.send!.bind(process) : (message: IsolateMessage) => port.postMessage(message);
  delete process.send; // the module has nothing to say on this channel
  return (message) => void post(message);
}

/**
 * A loop that prints keeps its text in memory, beside the heap if it is in buffers, until the loop ends and the text can
 * leave; so the limit is kept here. What gets around this, such as a child's printing, the reader of the pipe counts.
 */
function limitPrinting(): void {
  for (const stream of [process.stdout, process.stderr]) {
    const print = stream.write.bind(stream) as (chunk: Uint8Array | string, ...rest: unknown[]) => boolean;
    stream.write = (chunk: Uint8Array | string, ...rest: unknown[]) => {
      printedBytes += Buffer.byteLength(chunk);
      if (printedBytes > setup.limits.outputBytes) {
        send({ type: "output-limit", bytes: printedBytes });
        process.exit(1);
      }
      if (parentPort === null) return print(chunk, ...rest);
      // in order with the answer, and at once even from within a loop
      send({ type: "output", text: String(chunk) });
      const done = rest.find((value) => typeof value === "function");
      if (done !== undefined) process.nextTick(done);
      return true;
    };
  }
}

/** Printing waits in memory while the pipe is full; the answer must not overtake it. */
async function flush(stream: NodeJS.WriteStream): Promise<void> {
  if (stream.writableLength > 0) await new Promise<void>((resolve) => stream.write("", () => resolve()));
}

async function load(): Promise<Target | undefined> {
  try {
    const exports: Record<string, unknown> = await import(setup.module);
    const found = exports[setup.export];
    if (typeof found === "function") return found as Target;
    const expected = Object.keys(exports).filter((name) => typeof exports[name] === "function");
    const message = `got "${setup.export}", expected one of the functions it exports: ${expected.join(", ") || "none"}`;
    send({ type: "load-failed", error: { name: "UnknownExport", message: `${setup.module}: ${message}` } });
  } catch (error) {
    send({ type: "load-failed", error: toErrorData(error) });
  }
  return undefined;
}

async function answer(target: Target, { call, args }: IsolateCall): Promise<void> {
  current = call;
  const timersBefore = pendingTimers();
  let message: IsolateMessage;
  try {
    const [input, context]: IsolateArgs = deserialize(args);
    const given: IsolateArgs = context === undefined ? [input] : [input, context];
    const value = await origin.run(call, async () => await target(...given));
    message = returned(call, context === undefined ? [value] : [value, context.state]);
  } catch (error) {
    message = { type: "threw", call, error: toErrorData(error), retire };
  }
  if (parentPort === null) await Promise.all([process.stdout, process.stderr].map(flush));
  if (current !== call) return; // an error nobody caught has answered for it
  current = undefined;
  printedBytes = 0;
  retire ||= memoryBytes() > setup.retireHeapBytes || pendingTimers() > timersBefore;
  send("retire" in message ? { ...message, retire } : message);
}

function returned(call: number, answer: IsolateAnswer): IsolateMessage {
  const { outputBytes } = setup.limits;
  if (exceedsBytes(answer, outputBytes)) return { type: "output-limit", bytes: outputBytes };
  const bytes = serialize(answer);
  if (bytes.byteLength > outputBytes) return { type: "output-limit", bytes: bytes.byteLength };
  return { type: "returned", call, value: bytes, retire };
}

/** What is kept. New space is left out: most of it is garbage that is yet to be collected. */
function memoryBytes(): number {
  const kept = getHeapSpaceStatistics().filter(({ space_name: name }) => !name.startsWith("new_"));
  return kept.reduce((sum, space) => sum + space.space_used_size, getHeapStatistics().external_memory);
}

/** Work that a call left behind would run in the next one's time. */
function pendingTimers(): number {
  return process.getActiveResourcesInfo().filter((name) => name === "Timeout" || name === "Immediate").length;
}

function onStray(error: unknown): void {
  retire = true;
  const blamed = origin.getStore() ?? current;
  if (blamed === undefined || blamed !== current) {
    send({ type: "retire" });
    return;
  }
  current = undefined;
  send({ type: "threw", call: blamed, error: toErrorData(error), retire });
}
