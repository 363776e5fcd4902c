import { inspect, isDeepStrictEqual } from "node:util";

/** The part of vitest's `expect` that the engine contract uses. A matcher that is missing here fails the test that uses it. */
export function expect(value: unknown, message?: string) {
  return { ...matchers(value, message), rejects: rejection(value, message) };
}

function matchers(value: unknown, message: string | undefined) {
  const check = (isMet: boolean, expectation: string, ...expected: unknown[]) => {
    if (isMet) return;
    const said = `expected ${show(value)} ${expectation} ${expected.map(show).join(", ")}`.trimEnd();
    throw new Error(message === undefined ? said : `${message}: ${said}`);
  };
  const number = value as number;
  return {
    toBe: (expected: unknown) => check(Object.is(value, expected), "to be", expected),
    toBeUndefined: () => check(value === undefined, "to be undefined"),
    toEqual: (expected: unknown) => check(isDeepStrictEqual(value, expected), "to equal", expected),
    toContain: (item: unknown) => check((value as unknown[]).includes(item), "to contain", item),
    toBeLessThan: (limit: number) => check(number < limit, "to be less than", limit),
    toBeGreaterThan: (limit: number) => check(number > limit, "to be greater than", limit),
    toBeCloseTo: (expected: number, digits = 2) =>
      check(Math.abs(number - expected) < 0.5 * 10 ** -digits, `to be the same in ${digits} digits as`, expected),
    toMatchObject: (expected: object) =>
      check(
        Object.entries(expected).every(([key, part]) =>
          isDeepStrictEqual((value as Record<string, unknown>)[key], part),
        ),
        "to have",
        expected,
      ),
  };
}

function rejection(value: unknown, message: string | undefined) {
  const reason = async (): Promise<unknown> => {
    try {
      await (value as Promise<unknown>);
    } catch (error) {
      return error;
    }
    throw new Error("expected a promise that is rejected, got one that was fulfilled");
  };
  return {
    toThrow: async () => void (await reason()),
    toMatchObject: async (expected: object) => matchers(await reason(), message).toMatchObject(expected),
  };
}

function show(value: unknown): string {
  const text = inspect(value, { depth: 2, breakLength: Number.POSITIVE_INFINITY });
  return text.length > 300 ? `${text.slice(0, 300)}…` : text;
}
