import { AsyncLocalStorage } from "node:async_hooks";
import { toErrorData } from "./sandbox/error-data.ts";

/** Whose call started what is running: `Tool "search"`. */
const origin = new AsyncLocalStorage<string>();
const warned = new Set<string>();
let isListening = false;

/**
 * Runs the function of a tool or an environment so that a promise it leaves behind and nobody waits for may be rejected: that is
 * told as a warning, once for each of them, where Node would end the process and with it every other rollout.
 */
export function runWatched<Value>(who: string, work: () => Value): Value {
  if (!isListening) process.on("unhandledRejection", onRejection);
  isListening = true;
  return origin.run(who, work);
}

function onRejection(reason: unknown): void {
  const who = origin.getStore();
  if (who === undefined) {
    leaveToNode(reason);
    return;
  }
  if (warned.has(who)) return;
  warned.add(who);
  const { name, message } = toErrorData(reason);
  process.emitWarning(`${who} left a promise behind that was rejected: ${name}: ${message}`, {
    type: "LudusWarning",
    code: "stray-rejection",
    detail: "Await it or catch its error. Later ones are not reported.",
  });
}

/** A listener takes Node's own answer away. Where it is the only one, the error is thrown, as Node would have done. */
function leaveToNode(reason: unknown): void {
  if (process.listenerCount("unhandledRejection") > 1) return;
  if (reason instanceof Error) throw reason;
  throw new Error(`A promise was rejected with ${toErrorData(reason).message}, and nobody handled it`);
}
