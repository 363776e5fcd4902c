import { describe, expect, expectTypeOf, test } from "vitest";
import { z } from "zod";
import { LudusError } from "../errors.ts";
import { react } from "../policy/formats/react.ts";
import { createRng, type Rng } from "../random.ts";
import { generated } from "../task/generated.ts";
import { tool } from "../tool/define-tool.ts";
import { defaultLimits, defineEnv, type EnvDefinition } from "./define-env.ts";
import type { Env } from "./env.ts";

interface Sum {
  readonly a: number;
  readonly b: number;
}
const tasks = generated((rng): Sum => ({ a: rng.integer(10), b: rng.integer(10) }));
const definition: EnvDefinition<Sum, { tries: number }> = {
  name: "sum",
  tasks,
  start: ({ task }) => ({ state: { tries: 0 }, say: `${task.a}+${task.b}` }),
};
const search = tool({ description: "Finds", input: z.object({ query: z.string() }), run: () => "found" });

describe("what is left out", () => {
  test("without tools: plain words, one agent, told of mistakes, the default limits, its name as description", () => {
    const env = defineEnv(definition);
    expect(env).toMatchObject({ name: "sum", description: "sum", roles: ["agent"], malformed: "observe" });
    expect(env.format.name).toBe("plain");
    expect(env.limits).toEqual(defaultLimits);
    expect(env).not.toHaveProperty("tools");
    expect(env).not.toHaveProperty("system");
  });

  test("with tools the format is Hermes', unless another is given", () => {
    expect(defineEnv({ ...definition, tools: { search } }).format.name).toBe("hermes");
    expect(defineEnv({ ...definition, tools: { search }, format: react() }).format.name).toBe("react");
  });

  test("limits that are given replace only themselves", () => {
    expect(defineEnv({ ...definition, limits: { turns: 3 } }).limits).toEqual({ ...defaultLimits, turns: 3 });
  });
});

test("a system message may be a text or a function", () => {
  const data = { a: 1, b: 2 };
  expect(defineEnv({ ...definition, system: "Add." }).system?.(data, "agent")).toBe("Add.");
  const env = defineEnv({ ...definition, system: ({ a }, role) => `${role} ${a}` });
  expect(env.system?.(data, "judge")).toBe("judge 1");
});

test("tools may be made by a function that is given `tool`", async () => {
  const env = defineEnv({
    ...definition,
    tools: (tool) => ({ count: tool({ input: z.object({}), run: (_, { state }) => ++state.tries }) }),
  });
  expect(env.tools?.count?.spec.parameters).toEqual({ type: "object", properties: {} });
});

describe("what is refused", () => {
  const refused = (change: Partial<EnvDefinition<Sum, { tries: number }>>) => {
    try {
      defineEnv({ ...definition, ...change });
    } catch (error) {
      if (error instanceof LudusError) return `${error.code}: ${error.details.got}`;
      throw error;
    }
    return undefined;
  };

  test.each(["", "1st", "two words", "a/b", "ä", "x".repeat(65)])("the name %j", (name) => {
    expect(refused({ name })).toBe(`bad-env: environment name ${JSON.stringify(name)}`);
    expect(refused({ tools: { [name]: search } })).toBe(`bad-env: tool name ${JSON.stringify(name)}`);
  });

  test.each([0, -1, Number.NaN])("a limit of %d", (turns) => {
    expect(refused({ limits: { turns } })).toBe(`bad-env: limits.turns = ${turns} of sum`);
  });

  test.each(["turn", "toString", "__proto__"])("a limit called %s", (limit) => {
    const limits = JSON.parse(`{"${limit}": 1}`);
    expect(() => refused({ limits })).toThrow(`limits of sum: unknown option "${limit}"`);
  });

  test("no role, and one role twice", () => {
    expect(refused({ roles: [] })).toBe("bad-env: roles [] of sum");
    expect(refused({ roles: ["a", "b", "a"] })).toBe("bad-env: roles [a,b,a] of sum");
  });

  test("what is right", () => {
    expect(
      refused({ name: "A.b-c_9", limits: { turns: Number.POSITIVE_INFINITY }, roles: ["a", "b"] }),
    ).toBeUndefined();
  });
});

describe("types", () => {
  test("task and state are inferred from `tasks` and `start`, and reach everything else", () => {
    const env = defineEnv({
      name: "typed",
      tasks,
      system: (task, role) => {
        expectTypeOf(task).toEqualTypeOf<Sum>();
        expectTypeOf(role).toEqualTypeOf<string>();
        return "";
      },
      start: ({ task, rng }) => {
        expectTypeOf(task).toEqualTypeOf<Sum>();
        expectTypeOf(rng).toEqualTypeOf<Rng>();
        return { state: { tries: 0, said: new Set<string>() }, say: "" };
      },
      tools: (tool) => ({
        guess: tool({
          input: z.object({ value: z.number().default(3) }),
          run: ({ value }, { state }) => {
            expectTypeOf(value).toEqualTypeOf<number>();
            expectTypeOf(state).toEqualTypeOf<{ tries: number; said: Set<string> }>();
          },
        }),
      }),
      act({ task, state, answer }) {
        expectTypeOf(task).toEqualTypeOf<Sum>();
        expectTypeOf(state.said).toEqualTypeOf<Set<string>>();
        expectTypeOf(answer).toEqualTypeOf<string>();
        return { done: true };
      },
      score({ task, state }) {
        expectTypeOf(task.a).toEqualTypeOf<number>();
        expectTypeOf(state.tries).toEqualTypeOf<number>();
        return 1;
      },
      stateKey: (state) => String(state.tries),
      expert: ({ task, state }) => `${task.a + state.tries}`,
      close: (state) => state.said.clear(),
    });
    expectTypeOf(env).toEqualTypeOf<Env<Sum, { tries: number; said: Set<string> }>>();
  });

  test("an expert's calls are checked by the tools' schemas, and are turns with that call", () => {
    const input = z.object({ query: z.string(), limit: z.number().default(3) });
    const env = defineEnv({
      name: "typed-calls",
      tasks,
      start: () => ({ state: { found: 0 }, say: "" }),
      tools: (tool) => ({
        search: tool({ input, run: ({ limit }) => limit }),
        stop: tool({ input: z.object({}), run: () => "" }),
      }),
      expert({ call, state, turn }) {
        expectTypeOf(state.found).toEqualTypeOf<number>();
        expectTypeOf(call).toHaveProperty("search");
        expectTypeOf(call.search).parameter(0).toEqualTypeOf<{ query: string; limit?: number | undefined }>();
        // @ts-expect-error the argument is a string
        call.search({ query: 3 });
        // @ts-expect-error there is no such tool
        void call.serach;
        return turn === 0 ? call.search({ query: "a" }, { thought: "hm" }) : call.stop({});
      },
      actions: ({ call }) => [call.stop({})],
    });
    expectTypeOf(env).toEqualTypeOf<Env<Sum, { found: number }>>();
    const context = { task: { a: 1, b: 2 }, state: { found: 0 }, rng: createRng(0), role: "agent", turn: 0 };
    expect(env.expert?.(context)).toEqual({ thought: "hm", calls: [{ name: "search", arguments: { query: "a" } }] });
    expect(env.actions?.(context)).toEqual([{ calls: [{ name: "stop", arguments: {} }] }]);
  });

  test("tools that are listed outright are known to the expert too", () => {
    const guess = tool({ input: z.object({ value: z.number() }), run: () => "" });
    defineEnv({
      name: "listed",
      tasks,
      start: () => ({ state: 1, say: "" }),
      tools: { guess },
      // @ts-expect-error the argument is a number
      expert: ({ call }) => call.guess({ value: "3" }),
    });
  });

  test("tools with a state of their own must fit", () => {
    const counter = tool<z.ZodObject, { tries: number }>({ input: z.object({}), run: (_, { state }) => state.tries });
    defineEnv({ ...definition, tools: { counter } });
    const stranger = tool<z.ZodObject, { other: Date }>({ input: z.object({}), run: (_, { state }) => state.other });
    // @ts-expect-error the state has no `other`
    defineEnv({ name: "x", tasks, start: () => ({ state: { tries: 0 }, say: "" }), tools: { stranger } });
    // @ts-expect-error a misspelt field
    expect(() => defineEnv({ ...definition, limit: { turns: 1 } })).toThrow('did you mean "limits"?');
  });

  test("a start that waits, and one without a state", () => {
    const waiting = defineEnv({
      name: "x",
      tasks,
      start: async () => ({ state: 7, say: "" }),
      act: ({ state }) => ({ reward: state }),
    });
    expectTypeOf(waiting).toEqualTypeOf<Env<Sum, number>>();
    const stateless = defineEnv({ name: "x", tasks, start: () => ({ state: undefined, say: "" }) });
    expectTypeOf(stateless).toEqualTypeOf<Env<Sum, undefined>>();
  });
});
