import { expect, test } from "vitest";
import { broadcast, concreteShape, normalAxis, product, sumOf } from "./shape.ts";

test("products are written one way, whatever the order", () => {
  expect(product(["S", "B"])).toBe("B*S");
  expect(product([2, "B", 3, "S"])).toBe("6*B*S");
  expect(product(["2*B", "3*S"])).toBe("6*B*S");
  expect(product([2, 3])).toBe(6);
  expect(product([])).toBe(1);
});

test("sums add numbers and join symbols", () => {
  expect(sumOf([2, 3])).toBe(5);
  expect(sumOf(["T", "S"])).toBe("T+S");
  expect(sumOf(["T", 1, 15])).toBe("T+16");
  expect(sumOf([1, "T"])).toBe("T+1");
  expect(sumOf(["2*(T+S)", "T+1", 2])).toBe("2*(T+S)+T+3");
});

test("a product of a sum is not the sum of a product", () => {
  expect(product([2, "T+S"])).toBe("2*(T+S)");
  expect(product([2, "T+S"])).not.toBe(sumOf([product([2, "T"]), "S"]));
  expect(product([3, "2*(T+S)"])).toBe("6*(T+S)");
  expect(product(["T+S", 1])).toBe("T+S");
});

test("broadcasting takes the larger of two shapes", () => {
  expect(broadcast("add", ["B", 1, 3], ["S", 1])).toEqual(["B", "S", 3]);
  expect(broadcast("add", [], ["B"])).toEqual(["B"]);
});

test("axes count from either end", () => {
  expect([0, 2, -1, -3].map((axis) => normalAxis("sum", [2, 3, 4], axis))).toEqual([0, 2, 2, 0]);
});

test("a shape has numbers once its symbols have", () => {
  const symbols = { B: 2, S: 3, T: 5 };
  expect(concreteShape(["B", 4, "6*B*S", "T+S", "2*(T+S)", "2*T+S", "S*(B+T+1)"], symbols)).toEqual([
    2, 4, 36, 8, 16, 13, 24,
  ]);
  expect(() => concreteShape(["B", "X"], symbols)).toThrow('concreteShape([B, X]): "X" is not among B, S, T');
});
