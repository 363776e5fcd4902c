import { AsyncLocalStorage } from "node:async_hooks";
import { toErrorData } from "./sandbox/error-data.ts";

/** The tool whose call started what is running. */
const origin = new AsyncLocalStorage<string>();
const warned = new Set<string>();
let isListening = false;

/**
 * Runs a tool's function so that a promise it leaves behind and nobody waits for may be rejected: that is told as a warning,
 * once for each tool, where Node would end the process and with it every other rollout.
 */
export function runAsTool<Value>(tool: string, work: () => Value): Value {
  if (!isListening) process.on("unhandledRejection", onRejection);
  isListening = true;
  return origin.run(tool, work);
}

function onRejection(reason: unknown): void {
  const tool = origin.getStore();
  if (tool === undefined) {
    leaveToNode(reason);
    return;
  }
  if (warned.has(tool)) return;
  warned.add(tool);
  const { name, message } = toErrorData(reason);
  process.emitWarning(`Tool "${tool}" left a promise behind that was rejected: ${name}: ${message}`, {
    type: "LudusWarning",
    code: "stray-rejection",
    detail: "Await it or catch its error. Later ones of this tool are not reported.",
  });
}

/** A listener takes Node's own answer away. Where it is the only one, the error is thrown, as Node would have done. */
function leaveToNode(reason: unknown): void {
  if (process.listenerCount("unhandledRejection") > 1) return;
  if (reason instanceof Error) throw reason;
  throw new Error(`A promise was rejected with ${toErrorData(reason).message}, and nobody handled it`);
}
