import { afterAll, describe, expect, test } from "vitest";
import { z } from "zod";
import { callTool } from "./call-tool.ts";
import { tool } from "./define-tool.ts";
import { fakeContext } from "./fake-context.ts";
import { checkState, replaceState } from "./state-copy.ts";

const module = new URL("./fixtures/isolated-run.ts", import.meta.url);
const input = z.object({ act: z.string() });
const change = tool({ input, isolated: { module, export: "change", pool: 1 }, withState: true });
afterAll(() => change.isolated!.close());
const limits = { toolMs: 5_000, observationChars: 1_000 };

const call = (act: string, state: unknown, toolMs = 5_000) =>
  callTool({ change }, { name: "change", arguments: { act } }, fakeContext(state), { ...limits, toolMs });
const shelf = () => ({ books: new Map([["salt", 1]]), moves: 0, note: "old" });

describe("a call that runs elsewhere, with the state", () => {
  test("reads it and changes it, call after call", async () => {
    const state = shelf();
    const record = { outcome: "ok", observation: '[["salt",1],["tea",1]]' };
    expect(await call("return", state)).toMatchObject({ record });
    expect(state).toEqual({
      books: new Map([
        ["salt", 1],
        ["tea", 1],
      ]),
      moves: 1,
    });
    await call("return", state);
    expect(state.moves).toBe(2);
    await call("replace", state);
    expect(state).toEqual({ books: new Map([["new", 1]]), moves: 100 });
  });

  test.each(["refuse", "throw", "exit", "loop"])("changes nothing when it does not return: %s", async (act) => {
    const state = shelf();
    await call(act, state, act === "loop" ? 300 : 5_000);
    expect(state).toEqual(shelf());
  });

  test("cannot make something else of it", async () => {
    const state = shelf();
    const failure = expect.stringMatching(/state-replaced: got 4 as the new state, expected an instance of Object/);
    expect(await call("misuse", state)).toMatchObject({ stop: "tool-crash", failure });
    expect(state).toEqual(shelf());
  });

  test("is refused a state that a copy would change, by the name of the part", async () => {
    class Index {}
    const failing = (path: string) => ({ stop: "tool-crash", failure: expect.stringContaining(path) });
    const nested = { shelves: [{ index: new Index() }] };
    expect(await call("return", nested)).toMatchObject(failing("an instance of Index at `state.shelves[0].index`"));
    expect(await call("return", { find: () => 1 })).toMatchObject(failing("the function find at `state.find`"));
    expect(await call("return", undefined)).toMatchObject(failing("got undefined at `state`"));
    expect(await call("return", new Index())).toMatchObject(failing("an instance of Index at `state`"));
  });
});

test("data of all kinds may be in a state, circles too", () => {
  const state: Record<string, unknown> = {
    when: new Date(0),
    bytes: new Uint8Array(3),
    pattern: /a/,
    none: undefined,
    big: 1n,
    set: new Set([[1]]),
    bare: Object.create(null),
  };
  state.self = state;
  expect(checkState(state)).toBe(state);
  class Books extends Map {}
  expect(() => checkState({ books: new Books() })).toThrow("an instance of Books at `state.books`");
  expect(() => checkState(new Map([["a", Symbol("b")]]))).toThrow('a symbol at `state.get("a")`');
});

test.each([
  [
    { a: 1, b: 2 },
    { b: 3, c: 4 },
  ],
  [[1, 2, 3], [4]],
  [new Map([[1, 2]]), new Map([[3, 4]])],
  [new Set([1]), new Set([2])],
])("%j becomes %j in its place", (target, source) => {
  replaceState(target, source);
  expect(target).toEqual(source);
});
