import { describe, expect, expectTypeOf, test } from "vitest";
import { z } from "zod";
import { type MakeTool, tool } from "./define-tool.ts";
import { fakeContext } from "./fake-context.ts";
import type { StandardSchema } from "./standard-schema.ts";
import { toolContract } from "./tool.contract.ts";
import type { Tool, ToolContext } from "./tool.ts";
import { ToolError } from "./tool.ts";

interface Shelf {
  readonly books: string[];
}

const addBook = () =>
  tool({
    description: "Puts a book on the shelf",
    input: z.object({ title: z.string().min(1), copies: z.int().max(3).default(1) }),
    run({ title, copies }, { state }: ToolContext<Shelf>) {
      if (state.books.includes(title)) throw new ToolError(`"${title}" is there already`);
      for (let copy = 0; copy < copies; copy++) state.books.push(title);
      return state.books;
    },
  });

toolContract("made by tool()", addBook, {
  state: () => ({ books: ["Emma"] }),
  right: { title: "Ulysses" },
  wrong: [
    [{}, /title.*expected string/],
    [{ title: 4 }, /title.*expected string, received number/],
    [{ title: "Ulysses", copies: 9 }, /copies.*3/],
    [{ title: "Emma" }, '"Emma" is there already'],
  ],
});

describe("what the model is told", () => {
  test("the schema, without what nobody wrote", () => {
    const { spec } = tool({
      input: z.object({ query: z.string().describe("Words"), limit: z.int().optional(), mail: z.email().optional() }),
      run: () => "",
    });
    expect(spec).toEqual({
      description: "",
      parameters: {
        type: "object",
        properties: {
          query: { type: "string", description: "Words" },
          limit: { type: "integer" },
          mail: { type: "string", format: "email" },
        },
        required: ["query"],
      },
    });
  });

  test("an argument with a default may be left out, and bounds that were written stay", () => {
    expect(addBook().spec.parameters).toMatchObject({
      required: ["title"],
      properties: { copies: { type: "integer", maximum: 3, default: 1 } },
    });
    expect(addBook().spec.parameters.properties).not.toHaveProperty("copies.minimum");
  });

  test("data that looks like a schema is left alone", () => {
    const looksLikeSchema = { type: "integer", minimum: Number.MIN_SAFE_INTEGER };
    const input = z.object({ shape: z.object({ type: z.string(), minimum: z.number() }).default(looksLikeSchema) });
    expect(tool({ input, run: () => "" }).spec.parameters).toMatchObject({
      properties: { shape: { default: looksLikeSchema } },
    });
  });

  test("the schema's description stands in for the tool's", () => {
    const { spec } = tool({ input: z.object({}).describe("Rings the bell"), run: () => "" });
    expect(spec).toEqual({ description: "Rings the bell", parameters: { type: "object", properties: {} } });
  });

  test("schemas of other libraries come through Standard JSON Schema, in the newest draft", () => {
    const input: StandardSchema = {
      "~standard": {
        version: 1,
        vendor: "another",
        validate: (value) => ({ value }),
        jsonSchema: { input: ({ target }) => ({ $schema: "x", type: "object", title: target }) },
      },
    };
    expect(tool({ input, run: () => "" }).spec.parameters).toEqual({ type: "object", title: "draft-2020-12" });
  });

  test("zod without Standard JSON Schema is converted", () => {
    const schema = z.object({ word: z.string() });
    const { jsonSchema: _, ...standard } = schema["~standard"];
    const older = Object.create(schema, { "~standard": { value: standard } }) as typeof schema;
    expect(tool({ input: older, run: () => "" }).spec.parameters).toMatchObject({ required: ["word"] });
  });
});

describe("mistakes of the developer are found when the tool is made", () => {
  const bare: StandardSchema = {
    "~standard": { version: 1, vendor: "another", validate: (value) => ({ value }) },
  };

  test.each([
    ["a string", z.string(), /tool-input-not-object: got a JSON Schema of type "string"/],
    ["a union", z.union([z.object({ a: z.string() }), z.object({ b: z.string() })]), /a union/],
    ["a date", z.object({ when: z.date() }), /tool-input-not-json: got "Date cannot be represented/],
    ["no JSON Schema", bare, /tool-input-without-json-schema: got a schema of another.*`parameters`/],
  ])("%s", (_, input, message) => {
    expect(() => tool({ input, run: () => "" })).toThrow(message);
  });

  test("a time limit of nothing, a module that is not there", () => {
    expect(() => tool({ input: z.object({}), timeoutMs: 0, run: () => "" })).toThrow(/invalid-timeout/);
    const isolated = { module: new URL("./nowhere.ts", import.meta.url) };
    expect(() => tool({ input: z.object({}), isolated })).toThrow(/module-not-found/);
  });

  test("`parameters` given by hand are taken, and must be of an object", () => {
    const parameters = { type: "object", properties: { word: { type: "string" } } };
    expect(tool({ input: bare, parameters, run: () => "" }).spec.parameters).toEqual(parameters);
    expect(() => tool({ input: bare, parameters: { type: "array" }, run: () => "" })).toThrow(/tool-input-not-object/);
  });
});

describe("checking arguments", () => {
  const nested = tool({
    input: z.object({ items: z.array(z.object({ name: z.string() })), limit: z.number() }),
    run: () => "",
  });

  test("names every argument that is wrong, as it would be written", () => {
    expect(nested.check({ items: [{ name: 1 }] })).toEqual({
      ok: false,
      problem:
        "items[0].name: Invalid input: expected string, received number; limit: Invalid input: expected number, received undefined",
    });
  });

  test("does not fill the context with hundreds of mistakes", () => {
    const checked = nested.check({ limit: 1, items: Array.from({ length: 300 }, () => ({})) });
    expect(checked).toMatchObject({ problem: expect.stringMatching(/; 296 more$|; 295 more$/) });
  });

  test("waits for schemas that check asynchronously", async () => {
    const input = z.object({ word: z.string().refine(async (word) => word !== "no", "not that one") });
    const { check } = tool({ input, run: () => "" });
    expect(await check({ word: "no" })).toEqual({ ok: false, problem: "word: not that one" });
    expect(await check({ word: "yes" })).toEqual({ ok: true, value: { word: "yes" } });
  });

  test("reads paths of objects with keys", () => {
    const issues = [{ message: "bad", path: [{ key: "a" }, { key: 0 }, "b"] }];
    const input: StandardSchema = { "~standard": { version: 1, vendor: "v", validate: () => ({ issues }) } };
    expect(tool({ input, parameters: { type: "object" }, run: () => "" }).check({})).toMatchObject({
      problem: "a[0].b: bad",
    });
  });
});

describe("types", () => {
  type Tools<State> = Readonly<Record<string, Tool<State>>>;
  interface Env<State> {
    start: () => { state: State; say: string };
    tools: Tools<NoInfer<State>> | ((make: MakeTool<NoInfer<State>>) => Tools<NoInfer<State>>);
  }
  const stateOf = <State>(env: Env<State>) => env.start().state;

  // TypeScript settles a call within an object before it has looked at the object's other fields; a function it leaves for later
  test("in an environment that makes its tools with a function, arguments and state are known", () => {
    stateOf({
      start: () => ({ state: { opened: 0 }, say: "Go." }),
      tools: (make) => ({
        open: make({
          input: z.object({ page: z.number().default(1) }),
          run: (input, { state }) => {
            expectTypeOf(input).toEqualTypeOf<{ page: number }>();
            expectTypeOf(state).toEqualTypeOf<{ opened: number }>();
          },
        }),
      }),
    });
  });

  test("in an environment that lists its tools, arguments are known, and the state where the function names it", () => {
    const state = stateOf({
      start: () => ({ state: { books: ["Emma"] }, say: "Go." }),
      tools: {
        add: addBook(),
        open: tool({
          input: z.object({ page: z.number().default(1) }),
          run: (input) => expectTypeOf(input).toEqualTypeOf<{ page: number }>(),
        }),
      },
    });
    expectTypeOf(state).toEqualTypeOf<{ books: string[] }>();
  });

  test("alone, the state is what the function says it is", () => {
    expectTypeOf(addBook()).toExtend<Tool<Shelf>>();
    expectTypeOf(tool({ input: z.object({}), run: () => "" })).toExtend<Tool<unknown>>();
  });

  test("a tool has a function or a module, not both and not neither", () => {
    const isolated = { module: new URL("./fixtures/isolated-run.ts", import.meta.url) };
    // @ts-expect-error: neither
    const neither = tool({ input: z.object({}) });
    // @ts-expect-error: both
    tool({ input: z.object({}), run: () => "", isolated });
    expect(() => neither.run({}, fakeContext(undefined))).toThrow(/tool-is-isolated/);
  });
});
