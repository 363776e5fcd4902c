import { EventEmitter } from "node:events";
import { expect, test } from "vitest";
import { stoppable } from "./stoppable.ts";

function terminal() {
  const signals = new EventEmitter();
  const exits: number[] = [];
  let stderr = "";
  return {
    signals,
    exits,
    stdout: { write: () => {} },
    stderr: { write: (text: string) => (stderr += text) },
    on: (signal: string, listener: () => void) => signals.on(signal, listener),
    off: (signal: string, listener: () => void) => signals.off(signal, listener),
    exit: (status: number) => exits.push(status),
    said: () => stderr,
  };
}

test("work that is not interrupted has its own status, and leaves no listener", async () => {
  const { signals, ...given } = terminal();
  expect(await stoppable(given, async () => 7)).toBe(7);
  expect(signals.eventNames()).toEqual([]);
});

test.each([
  ["SIGINT", 130],
  ["SIGTERM", 143],
])("%s once lets the work come to its end, and is the status", async (signal, status) => {
  const { signals, ...given } = terminal();
  const stopped = await stoppable(given, async (abort) => {
    signals.emit(signal);
    expect(abort.aborted).toBe(true);
    return 0;
  });
  expect(stopped).toBe(status);
  expect(given.exits).toEqual([]);
  expect(given.said()).toContain("Once more stops at once");
});

test("twice ends the program at once", async () => {
  const { signals, ...given } = terminal();
  await stoppable(given, async () => {
    signals.emit("SIGINT");
    signals.emit("SIGINT");
    return 0;
  });
  expect(given.exits).toEqual([130]);
});

test("work that fails leaves no listener either", async () => {
  const { signals, ...given } = terminal();
  await expect(stoppable(given, () => Promise.reject(new Error("broken")))).rejects.toThrow("broken");
  expect(signals.eventNames()).toEqual([]);
});
