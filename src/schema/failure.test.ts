import { expect, test } from "vitest";
import { bounds } from "../bounds.ts";
import { FailureTally, failureKey, failureParts, failuresText, failureText } from "./failure.ts";
import { runEventFromJson } from "./run-event-json.ts";

const crash = (id: string, failure: string) => ({ id, stop: "env-crash", failure }) as const;

test("a text is split into what it says and the first line of its stack", () => {
  const error = new Error("database is down");
  const { message, at } = failureParts(error.stack!);
  expect(message).toBe("Error: database is down");
  expect(at).toMatch(/^at .*failure\.test\.ts:\d+:\d+/);
  expect(failureParts('tool "search": it took longer than 5 ms')).toEqual({
    message: 'tool "search": it took longer than 5 ms',
  });
  expect(failureParts("Error: two\nlines\n    at here\n    at there")).toEqual({
    message: "Error: two\nlines",
    at: "at here",
  });
  expect(failureParts("x".repeat(1_000_000)).message).toHaveLength(bounds.failureText);
});

test.each([
  ["order 17 of 3", "order 2048 of 9"],
  ["no session 3f2504e0-4f89-11d3-9a0c-0305e82c3301", "no session 9b2d11aa-0c1e-4bd0-8f3e-5d0f2a1b7c99"],
  ["at 0x7ffee4b2", "at 0x1234abcd"],
  ["ENOENT: /tmp/ludus-box-AbCdEf/a.txt is gone", "ENOENT: /tmp/ludus-box-GhIjKl/b.txt is gone"],
  ["connect ECONNREFUSED 127.0.0.1:4100", "connect ECONNREFUSED 10.0.0.7:81"],
  ["user u_81ab3f42 is unknown", "user u_99cc0e1d is unknown"],
])("%s and %s are one failure", (a, b) => {
  const of = (message: string) => failureKey({ during: "training", stop: "env-crash", message });
  expect(of(a)).toBe(of(b));
});

test("other words, another stop and another occasion are other failures", () => {
  const base = { during: "training", stop: "env-crash", message: "database is down" } as const;
  const keys = [
    base,
    { ...base, message: "disk is full" },
    { ...base, stop: "tool-crash" as const },
    { ...base, during: "evaluation" as const },
  ].map(failureKey);
  expect(new Set(keys).size).toBe(4);
});

test("512 failures with different ids are one line, with a count and an example that no order changes", () => {
  const attempts = Array.from({ length: 512 }, (_, i) =>
    crash(`step-3/${i >> 3}/${i & 7}`, `Error: request ${i} lost`),
  );
  const tallyOf = (order: typeof attempts) => {
    const tally = new FailureTally("training");
    for (const attempt of order) tally.add(attempt);
    return tally;
  };
  const tally = tallyOf(attempts);
  expect(tally.list()).toEqual([
    { during: "training", stop: "env-crash", message: "Error: request 0 lost", count: 512, rollout: "step-3/0/0" },
  ]);
  expect(tallyOf(attempts.toReversed()).list()).toEqual(tally.list());
  expect(failureText(tally.list()[0])).toBe("512 × env-crash: Error: request 0 lost");
});

test("what was stopped did not fail, and what was played to its end is only counted", () => {
  const tally = new FailureTally("evaluation");
  tally.add({ id: "a", stop: "completed" });
  tally.add({ id: "b", stop: "cancelled" });
  tally.add({ id: "c", stop: "engine-error" });
  expect(tally.attempts).toBe(2);
  expect(tally.list()).toMatchObject([{ stop: "engine-error", message: "", count: 1 }]);
  expect(failuresText(tally.list())).toBe("1 × engine-error: (no text)");
});

test("a flood of different texts is bounded, and every attempt is still counted", () => {
  const tally = new FailureTally("training");
  const word = (i: number) => String.fromCodePoint(0x4e00 + i);
  for (let i = 0; i < 500; i++) tally.add(crash(`r/${i}`, word(i)));
  const list = tally.list();
  expect(list.length).toBe(bounds.failureKinds + 1);
  expect(list.reduce((sum, { count }) => sum + count, 0)).toBe(500);
  expect(list[0]).toMatchObject({ message: "(further failures)", count: 500 - bounds.failureKinds });
});

test("the event is read back as it was written", () => {
  const event = {
    ...{ type: "failure", step: 3, attempts: 8, during: "demonstration", stop: "tool-timeout" },
    ...{ message: "m", at: "at x", count: 2, rollout: "r" },
  };
  expect(runEventFromJson(JSON.parse(JSON.stringify(event)))).toEqual(event);
  expect(() => runEventFromJson({ ...event, stop: "completed" })).toThrow("bad-event");
});
