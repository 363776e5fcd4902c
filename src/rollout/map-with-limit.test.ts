import { expect, test } from "vitest";
import { mapWithLimit } from "./map-with-limit.ts";

const soon = () => new Promise<void>((resolve) => setImmediate(resolve));

test("results are in the order of the items, however long each takes", async () => {
  const wait = async (ticks: number) => {
    for (let i = 0; i < ticks; i++) await soon();
  };
  const double = async (n: number) => {
    await wait(5 - n);
    return 2 * n;
  };
  expect(await mapWithLimit([1, 2, 3, 4], 3, double)).toEqual([2, 4, 6, 8]);
  expect(await mapWithLimit([], 3, double)).toEqual([]);
});

test("never more at once than the limit, and as many as it allows", async () => {
  let atWork = 0;
  let most = 0;
  await mapWithLimit(Array.from({ length: 20 }), 4, async () => {
    most = Math.max(most, ++atWork);
    await soon();
    atWork--;
  });
  expect(most).toBe(4);
});

test("the first failure is thrown, and stops new ones", async () => {
  const begun: number[] = [];
  const work = async (n: number) => {
    begun.push(n);
    await soon();
    if (n === 1) throw new Error("one failed");
  };
  await expect(mapWithLimit([0, 1, 2, 3, 4, 5], 2, work)).rejects.toThrow("one failed");
  await soon();
  await soon();
  expect(begun).toEqual([0, 1, 2]);
});

test.each([0, -1, Number.NaN])("a limit of %s would do nothing, so it is refused", async (limit) => {
  await expect(mapWithLimit([1], limit, async () => 1)).rejects.toThrow("bad-concurrency");
});
