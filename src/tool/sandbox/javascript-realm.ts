import { constants, createContext, runInContext, Script } from "node:vm";
import { toComparable } from "./comparable.ts";

/** How an expression ended inside the realm, in text. */
export type RealmEnd = { kind: "gave"; text: string } | { kind: "threw"; text: string } | { kind: "never-settles" };

interface Host {
  report(kind: "gave" | "threw", text: string): void;
  startTimer(callback: () => void, ms: number, repeats: boolean): number;
  stopTimer(timer: number): void;
}

interface Inside {
  settle(thunk: () => unknown): void;
  describe(thrown: unknown): string;
}

/** Loads the code in a new realm, evaluates the expression there and waits for it if it is a promise. */
export async function evaluateInRealm(code: Script, expression: string): Promise<RealmEnd> {
  // a realm with the built-ins of the language and not one object of ours
  const context = createContext(constants.DONT_CONTEXTIFY);
  const timers = new Map<number, NodeJS.Timeout>();
  let onIdle = () => {};
  let onRejection = (_reason: unknown) => {};
  try {
    return await new Promise<RealmEnd>((resolve) => {
      const host: Host = { report: (kind, text) => resolve({ kind, text }), ...timerFunctions(timers) };
      onIdle = () => {
        setImmediate(() => {}); // the process is to go on with the next test
        resolve({ kind: "never-settles" });
      };
      process.once("beforeExit", onIdle);
      // strict, or the stack of an error in the code would show these functions to it
      const prepare: typeof prepareRealm = runInContext(`"use strict"; (${prepareRealm})`, context);
      const inside = prepare(host, runInContext(`(${toComparable})`, context));
      onRejection = (reason) => resolve({ kind: "threw", text: inside.describe(reason) });
      process.on("unhandledRejection", onRejection);
      try {
        code.runInContext(context);
        // strict, or `caller` and the call sites of an error would show the expression to the code
        inside.settle(new Script(`"use strict"; (async () => (${expression}\n))`).runInContext(context));
      } catch (error) {
        resolve({ kind: "threw", text: inside.describe(error) });
      }
    });
  } finally {
    for (const timer of timers.values()) clearTimeout(timer);
    // rejections are told at the end of a turn, and are not the next test's
    await new Promise((resolve) => setImmediate(resolve));
    process.off("beforeExit", onIdle).off("unhandledRejection", onRejection);
  }
}

function timerFunctions(timers: Map<number, NodeJS.Timeout>): Pick<Host, "startTimer" | "stopTimer"> {
  let started = 0;
  return {
    startTimer: (callback, ms, repeats) => {
      const id = ++started;
      timers.set(id, repeats ? setInterval(() => callback(), ms) : setTimeout(() => callback(), ms));
      return id;
    },
    stopTimer: (id) => clearTimeout(timers.get(id)),
  };
}

/**
 * Runs inside the realm, before the code, from its text: it must not refer to anything outside itself. Our functions stay in
 * its closure, and every error of theirs is replaced, because an object of our realm leads to all of it.
 */
function prepareRealm(host: Host, write: (value: unknown) => string): Inside {
  const describe = (thrown: unknown): string => {
    try {
      const isObject = typeof thrown === "object" && thrown !== null;
      const { name, message } = isObject ? (thrown as Error) : { name: "thrown", message: thrown };
      return `${name}: ${message}`;
    } catch {
      return "a value that cannot be read";
    }
  };
  const start = (callback: unknown, ms: unknown, values: unknown[], repeats: boolean): number => {
    const call = () => {
      try {
        (callback as (...values: unknown[]) => void)(...values);
      } catch (error) {
        host.report("threw", describe(error));
      }
    };
    const delay = Number(ms) || 0;
    try {
      return host.startTimer(call, delay, repeats);
    } catch {
      throw new RangeError("the timer could not be started");
    }
  };
  const stop = (timer: unknown) => {
    const id = Number(timer);
    try {
      host.stopTimer(id);
    } catch {
      throw new RangeError("the timer could not be stopped");
    }
  };
  const exports = {};
  Object.assign(globalThis, {
    setTimeout: (callback: unknown, ms: unknown, ...values: unknown[]) => start(callback, ms, values, false),
    setInterval: (callback: unknown, ms: unknown, ...values: unknown[]) => start(callback, ms, values, true),
    setImmediate: (callback: unknown, ...values: unknown[]) => start(callback, 0, values, false),
    queueMicrotask: (callback: () => void) => void Promise.resolve().then(callback),
    clearTimeout: stop,
    clearInterval: stop,
    clearImmediate: stop,
    module: { exports },
    exports,
  });
  // `await` calls a replaced `then`, which could answer for the expression
  Object.freeze(Promise.prototype);
  Object.freeze(Promise);
  const settle = async (thunk: () => unknown) => {
    try {
      host.report("gave", write(await thunk()));
    } catch (error) {
      host.report("threw", describe(error));
    }
  };
  return { settle: (thunk) => void settle(thunk), describe };
}
