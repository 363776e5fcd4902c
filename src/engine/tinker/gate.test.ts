import { expect, test } from "vitest";
import { Gate } from "./gate.ts";

/** Does what it is told and says when. */
function worker(log: string[]) {
  return (name: string) => {
    const { promise, resolve } = Promise.withResolvers<void>();
    const work = async () => {
      log.push(`${name} begins`);
      await promise;
      log.push(`${name} ends`);
    };
    return { work, end: resolve };
  };
}

const turns = async () => {
  for (let i = 0; i < 20; i++) await Promise.resolve();
};

test("what must be alone waits for what runs, and what comes later waits for it", async () => {
  const [gate, log]: [Gate, string[]] = [new Gate(true), []];
  const [a, b, step, c] = ["a", "b", "step", "c"].map(worker(log));
  const all = [gate.together(a.work), gate.together(b.work), gate.alone(step.work), gate.together(c.work)];
  await turns();
  expect(log).toEqual(["a begins", "b begins"]);
  a.end();
  await turns();
  expect(log.at(-1)).toBe("a ends");
  b.end();
  await turns();
  expect(log.at(-1)).toBe("step begins");
  step.end();
  await turns();
  expect(log.slice(-2)).toEqual(["step ends", "c begins"]);
  c.end();
  await Promise.all(all);
});

test("a failure of either holds nobody up", async () => {
  const gate = new Gate(true);
  const fail = () => Promise.reject(new Error("no"));
  await expect(gate.together(fail)).rejects.toThrow("no");
  await expect(gate.alone(fail)).rejects.toThrow("no");
  expect(await gate.together(async () => 1)).toBe(1);
  expect(await gate.alone(async () => 2)).toBe(2);
});

test("without need nothing waits", async () => {
  const [gate, log]: [Gate, string[]] = [new Gate(false), []];
  const [a, step] = ["a", "step"].map(worker(log));
  const all = [gate.together(a.work), gate.alone(step.work)];
  await turns();
  expect(log).toEqual(["a begins", "step begins"]);
  a.end();
  step.end();
  await Promise.all(all);
});
