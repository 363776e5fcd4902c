import { describe, expect, test } from "vitest";
import { createRng } from "../random.ts";
import { hypervolume, paretoFront } from "./pareto.ts";

const same = (point: readonly number[]) => point;

test("the front has what nothing beats", () => {
  const points = [
    [1, 0],
    [0, 1],
    [0.5, 0.5],
    [0.4, 0.4],
    [0.5, 0.2],
    [1, 0],
  ];
  expect(paretoFront(points, same)).toEqual([
    [1, 0],
    [0, 1],
    [0.5, 0.5],
    [1, 0],
  ]);
  expect(paretoFront([], same)).toEqual([]);
});

test("along a front, one objective rises as the other falls", () => {
  const rng = createRng(3);
  const front = paretoFront(
    Array.from({ length: 200 }, () => [rng.next(), rng.next()]),
    same,
  ).sort((a, b) => a[0] - b[0]);
  expect(front.length).toBeGreaterThan(3);
  for (let i = 1; i < front.length; i++) expect(front[i][1]).toBeLessThan(front[i - 1][1]);
});

describe("hypervolume", () => {
  test("is the volume of the union of boxes", () => {
    expect(hypervolume([[3]], [1])).toBe(2);
    expect(
      hypervolume(
        [
          [2, 1],
          [1, 2],
        ],
        [0, 0],
      ),
    ).toBe(3);
    expect(
      hypervolume(
        [
          [2, 1],
          [1, 2],
          [1, 1],
        ],
        [0, 0],
      ),
    ).toBe(3);
    expect(
      hypervolume(
        [
          [1, 1, 1],
          [2, 0.5, 0.5],
        ],
        [0, 0, 0],
      ),
    ).toBeCloseTo(1.25);
    expect(hypervolume([[2, 1]], [0, 1])).toBe(0);
    expect(hypervolume([], [0, 0])).toBe(0);
  });

  test("agrees with counting random points, in three objectives", () => {
    const rng = createRng(1);
    const points = Array.from({ length: 8 }, () => [rng.next(), rng.next(), rng.next()]);
    let inside = 0;
    for (let i = 0; i < 40_000; i++) {
      const at = [rng.next(), rng.next(), rng.next()];
      if (points.some((point) => point.every((value, d) => value >= at[d]))) inside++;
    }
    expect(Math.abs(hypervolume(points, [0, 0, 0]) - inside / 40_000)).toBeLessThan(0.01);
  });

  test("refuses points that cannot be compared", () => {
    expect(() => hypervolume([[1, 2]], [0])).toThrow("bad-point");
    expect(() => hypervolume([[1, Number.NaN]], [0, 0])).toThrow("bad-point");
    expect(() => paretoFront([[1], [1, 2]], same)).toThrow("bad-point: got [1,2], point 1");
  });
});
