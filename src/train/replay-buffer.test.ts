import { describe, expect, test } from "vitest";
import { createRng } from "../random.ts";
import { type Drawn, fifoBuffer, priorityBuffer, type ReplayBuffer, successBuffer } from "./replay-buffer.ts";

interface Item {
  readonly task: string;
  readonly priority: number;
}

const makers: [string, () => ReplayBuffer<Item>][] = [
  ["fifo", () => fifoBuffer({ capacity: 4, uses: 3 })],
  ["fifo, oldest first", () => fifoBuffer({ capacity: 4, order: "oldest" })],
  ["priority", () => priorityBuffer({ capacity: 4, priorityOf: ({ priority }) => priority })],
  [
    "success",
    () => successBuffer({ capacity: 4, isSuccess: ({ priority }) => priority > 0, taskOf: ({ task }) => task }),
  ],
];
const ids = (drawn: readonly Drawn<Item>[]) => drawn.map(({ id }) => id);
const fill = (buffer: ReplayBuffer<Item>, count: number, priority = 1) => {
  for (let i = 0; i < count; i++) buffer.add(`${i}`, { task: `task-${i}`, priority });
};

describe.each(makers)("a %s buffer", (_, make) => {
  test("holds no more than it can, the newest", () => {
    const buffer = make();
    expect(buffer.draw(3, createRng(0))).toEqual([]);
    fill(buffer, 6);
    expect(buffer.size).toBe(4);
    const seen = new Set(Array.from({ length: 3 }, (_, seed) => ids(buffer.draw(4, createRng(seed)))).flat());
    for (const id of seen) expect(["2", "3", "4", "5"]).toContain(id);
  });

  test("goes on where another one is, from its state", async () => {
    const items = new Map<string, Item>();
    const buffer = make();
    for (let i = 0; i < 5; i++) {
      items.set(`${i}`, { task: `task-${i}`, priority: 1 + i });
      buffer.add(`${i}`, items.get(`${i}`)!);
    }
    buffer.draw(2, createRng(1));
    const resumed = make();
    await resumed.restore(JSON.parse(JSON.stringify(buffer.state())), async (id) => items.get(id)!);
    for (const each of [buffer, resumed]) each.add("9", { task: "task-9", priority: 3 });
    for (let seed = 0; seed < 5; seed++) {
      expect(resumed.draw(3, createRng(seed))).toEqual(buffer.draw(3, createRng(seed)));
    }
  });

  test("leaves out what cannot be found again", async () => {
    const buffer = make();
    fill(buffer, 2);
    const resumed = make();
    await resumed.restore(buffer.state(), async (id) => (id === "0" ? undefined : { task: id, priority: 1 }));
    expect(resumed.size).toBe(buffer.size - 1);
  });

  test("draws the same with the same chance", () => {
    const [a, b] = [make(), make()];
    for (const buffer of [a, b]) fill(buffer, 4);
    expect(a.draw(3, createRng(7))).toEqual(b.draw(3, createRng(7)));
  });
});

describe("first in, first out", () => {
  test("the oldest first, each once: AReaL's", () => {
    const buffer = fifoBuffer<Item>({ capacity: 10, uses: 1, order: "oldest" });
    fill(buffer, 5);
    expect(ids(buffer.draw(2, createRng(0)))).toEqual(["0", "1"]);
    expect(ids(buffer.draw(2, createRng(0)))).toEqual(["2", "3"]);
    expect(ids(buffer.draw(2, createRng(0)))).toEqual(["4"]);
    expect(buffer.size).toBe(0);
  });

  test("any with the same chance, none twice in a draw", () => {
    const buffer = fifoBuffer<Item>({ capacity: 10 });
    fill(buffer, 4);
    const counts = new Map<string, number>();
    const rng = createRng(3);
    for (let i = 0; i < 4000; i++) {
      const drawn = ids(buffer.draw(2, rng));
      expect(new Set(drawn).size).toBe(2);
      for (const id of drawn) counts.set(id, (counts.get(id) ?? 0) + 1);
    }
    for (const count of counts.values()) expect(count / 4000).toBeCloseTo(0.5, 1);
  });
});

describe("by priority", () => {
  const priorityOf = ({ priority }: Item) => priority;
  const filled = (alpha: number, beta: number) => {
    const buffer = priorityBuffer<Item>({ capacity: 10, priorityOf, alpha, beta });
    [1, 4, 16, 0].forEach((priority, i) => {
      buffer.add(`${i}`, { task: "", priority });
    });
    return buffer;
  };

  test("frequencies are those of priority to the power alpha, and nothing has no chance", () => {
    const buffer = filled(0.5, 1);
    const rng = createRng(1);
    const counts = new Map<string, number>();
    for (let i = 0; i < 7000; i++) for (const id of ids(buffer.draw(1, rng))) counts.set(id, (counts.get(id) ?? 0) + 1);
    // 1, 2 and 4 of 7
    expect(counts.get("0")! / 1000).toBeCloseTo(1, 0);
    expect(counts.get("1")! / 1000).toBeCloseTo(2, 0);
    expect(counts.get("2")! / 1000).toBeCloseTo(4, 0);
    expect(counts.has("3")).toBe(false);
  });

  test("weights make up for it: (N·P)^-beta over the largest", () => {
    const weights = new Map<string, number>();
    const rng = createRng(2);
    for (const beta of [1, 0.5, 0]) {
      const buffer = filled(0.5, beta);
      for (let i = 0; i < 60; i++)
        for (const { id, weight } of buffer.draw(3, rng)) weights.set(`${id}@${beta}`, weight);
    }
    expect([weights.get("0@1"), weights.get("1@1"), weights.get("2@1")]).toEqual([1, 0.5, 0.25]);
    expect(weights.get("2@0.5")).toBe(0.5);
    expect(weights.get("2@0")).toBe(1);
  });

  test("a weighted mean of what is drawn is the plain mean of what there is", () => {
    const buffer = filled(1, 1);
    const rng = createRng(3);
    let [sum, total] = [0, 0];
    for (let i = 0; i < 20_000; i++) {
      for (const { item, weight } of buffer.draw(1, rng)) {
        sum += weight * item.priority;
        total += weight;
      }
    }
    expect(sum / total).toBeCloseTo((1 + 4 + 16) / 3, 0);
  });
});

test("of successes one for each task, the newest", () => {
  const buffer = successBuffer<Item>({
    capacity: 9,
    isSuccess: ({ priority }) => priority > 0,
    taskOf: ({ task }) => task,
  });
  buffer.add("1", { task: "a", priority: 1 });
  buffer.add("2", { task: "b", priority: 0 });
  buffer.add("3", { task: "a", priority: 1 });
  buffer.add("4", { task: "c", priority: 1 });
  expect(ids(buffer.draw(9, createRng(0))).sort()).toEqual(["3", "4"]);
});

test("no room is refused", () => expect(() => fifoBuffer({ capacity: 0 })).toThrow(/bad-replay/));
