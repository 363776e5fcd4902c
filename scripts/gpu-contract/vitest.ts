// Stands in for vitest where it is not installed: what the engine contract imports of it, run by `runSuite`.

import { format } from "node:util";

export { expect } from "./expect.ts";

type Run = (context: TestContext) => unknown;
interface TestContext {
  skip(note: string): never;
}
interface Suite {
  tests: { name: string; run: Run }[];
  before: (() => unknown)[];
  after: (() => unknown)[];
}
export interface Outcome {
  name: string;
  state: "passed" | "failed" | "skipped";
  /** What failed, or why it was skipped. */
  note: string;
}

class Skipped extends Error {}

let collecting: Suite | undefined;
let path: readonly string[] = [];

function current(): Suite {
  if (collecting === undefined) throw new Error("describe and test are called inside runSuite alone");
  return collecting;
}

export function describe(name: string, body: () => void): void {
  const outer = path;
  path = [...outer, name];
  body();
  path = outer;
}

export function test(name: string, run: Run): void {
  current().tests.push({ name: [...path.slice(1), name].join(" > "), run });
}

/** As many values as the name has places for. */
function named(name: string, values: readonly unknown[]): string {
  return format(name, ...values.slice(0, name.match(/%[sd]/g)?.length ?? 0));
}

test.each = (cases: readonly unknown[]) => (name: string, run: (...values: unknown[]) => unknown) => {
  for (const one of cases) test(named(name, [one].flat()), () => run(...[one].flat()));
};

test.for = (cases: readonly unknown[]) => (name: string, run: (value: unknown, context: TestContext) => unknown) => {
  for (const one of cases) test(named(name, [one].flat()), (context) => run(one, context));
};

export const beforeAll = (run: () => unknown): void => void current().before.push(run);
export const afterAll = (run: () => unknown): void => void current().after.push(run);

export interface SuiteOptions {
  timeoutMs: number;
  /** Tests whose name contains it; all by default. */
  only?: string;
}

/** Collects the tests that `body` declares and runs them one after the other. */
export async function runSuite(body: () => void, options: SuiteOptions): Promise<Outcome[]> {
  const suite: Suite = { tests: [], before: [], after: [] };
  collecting = suite;
  body();
  collecting = undefined;
  const { tests, before, after } = suite;
  const chosen = tests.filter(({ name }) => name.includes(options.only ?? ""));
  const outcomes: Outcome[] = [];
  try {
    for (const run of before) await run();
    for (const { name, run } of chosen) outcomes.push(await outcomeOf(name, run, options.timeoutMs));
  } catch (error) {
    outcomes.push({ name: "the engine starts", state: "failed", note: noteOf(error) });
  } finally {
    for (const run of after) await run();
  }
  return outcomes;
}

async function outcomeOf(name: string, run: Run, timeoutMs: number): Promise<Outcome> {
  const skip = (note: string): never => {
    throw new Skipped(note);
  };
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`took longer than ${timeoutMs / 1000} s`)), timeoutMs);
  });
  try {
    await Promise.race([run({ skip }), late]);
    return { name, state: "passed", note: "" };
  } catch (error) {
    return { name, state: error instanceof Skipped ? "skipped" : "failed", note: noteOf(error) };
  } finally {
    clearTimeout(timer);
  }
}

function noteOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
