import { pbkdf2 } from "node:crypto";
import { getEventListeners } from "node:events";
import { setImmediate as immediate, setTimeout as sleep } from "node:timers/promises";
import { promisify } from "node:util";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { z } from "zod";
import { type CallLimits, type CallResult, callTool, type SaidToolCall } from "./call-tool.ts";
import { tool } from "./define-tool.ts";
import { fakeContext } from "./fake-context.ts";
import { type Tool, type ToolContext, ToolError } from "./tool.ts";

const limits: CallLimits = { toolMs: 1_000, observationChars: 1_000 };
const any = z.object({});
const never = () => new Promise<never>(() => {});

/** Calls a tool named `it` that does what `run` does. */
const callOf = (run: Tool["run"], context = fakeContext(undefined), given: Partial<CallLimits> = {}) =>
  callTool({ it: tool({ input: any, run }) }, { name: "it", arguments: {} }, context, { ...limits, ...given });

const tools = {
  search: tool({ input: z.object({ query: z.string() }), run: ({ query }) => `found ${query}` }),
  open_page: tool({ input: any, run: () => "page" }),
};
const say = (call: SaidToolCall) => callTool(tools, call, fakeContext(undefined), limits);

const observationOf = (result: CallResult) => (result.kind === "observed" ? result.record.observation : result);
const failureOf = (result: CallResult) => (result.kind === "stopped" ? result.failure : result);

describe("what the policy did is told to it", () => {
  test("a right call", async () => {
    expect(await say({ kind: "call", name: "search", arguments: { query: "tea" } })).toEqual({
      kind: "observed",
      record: { name: "search", arguments: { query: "tea" }, outcome: "ok", observation: "found tea" },
    });
  });

  test("a call that could not be read", async () => {
    expect(await say({ kind: "malformed", problem: "the call is not JSON" })).toEqual({
      kind: "observed",
      record: { name: "", arguments: {}, outcome: "malformed", observation: "Error: the call is not JSON" },
    });
  });

  test.each([
    ["fly", 'Error: there is no tool "fly". Tools: search, open_page.'],
    ["openPage", 'Error: there is no tool "openPage". Did you mean "open_page"? Tools: search, open_page.'],
    ["constructor", 'Error: there is no tool "constructor". Tools: search, open_page.'],
    ["__proto__", 'Error: there is no tool "__proto__". Tools: search, open_page.'],
  ])("a tool that does not exist: %s", async (name, observation) => {
    const record = { name, arguments: {}, outcome: "unknown-tool", observation };
    expect(await say({ name, arguments: {} })).toEqual({ kind: "observed", record });
  });

  test("a tool where there is none, under a name of any length", async () => {
    const call = { name: "x".repeat(100_000), arguments: {} };
    const observation = observationOf(await callTool({}, call, fakeContext(undefined), limits));
    expect(observation).toMatch(/^Error: there is no tool "x+\n\[\d+ characters cut\]\nx+"\. There are no tools\.$/);
  });

  test("wrong arguments", async () => {
    expect(await say({ name: "search", arguments: { query: 4 } })).toMatchObject({
      kind: "observed",
      record: {
        outcome: "bad-arguments",
        observation: 'Error: wrong arguments for "search": query: Invalid input: expected string, received number',
      },
    });
  });

  test.each<[string, Tool["run"]]>([
    ["thrown", () => Promise.reject(new ToolError("no such page"))],
    [
      "thrown at once",
      () => {
        throw new ToolError("no such page");
      },
    ],
    [
      "of another copy of the package",
      () => Promise.reject(Object.assign(new Error("no such page"), { name: "ToolError" })),
    ],
    ["that says it is one", () => Promise.reject(new ToolError("Error: no such page"))],
  ])("a ToolError %s", async (_, run) => {
    expect(await callOf(run)).toMatchObject({ record: { outcome: "error", observation: "Error: no such page" } });
  });

  test("long observations and long errors lose their middle", async () => {
    const run = () => `begin${"x".repeat(5_000)}end`;
    expect(observationOf(await callOf(run))).toMatch(/^beginx+\n\[4\d\d\d characters cut\]\nx+end$/);
    const fail = () => Promise.reject(new ToolError("x".repeat(5_000)));
    expect(observationOf(await callOf(fail))).toHaveLength(limits.observationChars);
  });

  test("the state is changed, rewards and answers arrive", async () => {
    const context = fakeContext({ opened: 0 });
    const open = tool({
      input: any,
      run(_, { state, reward, finish }: ToolContext<{ opened: number }>) {
        state.opened++;
        reward(0.5);
        finish("done");
      },
    });
    const result = await callTool({ open }, { name: "open", arguments: {} }, context, limits);
    expect(observationOf(result)).toBe("ok");
    expect(context).toMatchObject({ state: { opened: 1 }, rewards: [0.5], answers: ["done"] });
  });
});

describe("a fault of the tool ends the episode", () => {
  test.each<[string, Tool["run"], RegExp]>([
    ["rejects", () => Promise.reject(new TypeError("no index")), /^tool "it": TypeError: no index\n\s+at /],
    [
      "throws",
      () => {
        throw new RangeError("too deep");
      },
      /^tool "it": RangeError: too deep/,
    ],
    ["throws no error", () => Promise.reject("a string"), /a string/],
    ["throws what cannot be read", () => Promise.reject(Object.create(null)), /tool "it"/],
    [
      "throws with a cause",
      () => Promise.reject(new Error("fetch failed", { cause: new Error("connection refused") })),
      /fetch failed \(because of Error: connection refused\)/,
    ],
    ["returns what cannot be told", () => ({ n: 1n }), /returned what cannot be told: JSON cannot say a BigInt/],
  ])("that %s", async (_, run, failure) => {
    const result = await callOf(run);
    expect(result).toMatchObject({ kind: "stopped", stop: "tool-crash" });
    expect(failureOf(result)).toMatch(failure);
  });

  test("that returns what cannot even be looked at", async () => {
    const hostile = new Proxy({}, { has: () => expect.unreachable("hostile") });
    expect(failureOf(await callOf(() => hostile))).toMatch(/hostile/);
  });

  test("whose schema throws", async () => {
    const input = z.object({ word: z.string().transform(() => JSON.parse("{")) });
    const broken = tool({ input, parameters: { type: "object" }, run: () => "" });
    const call = { name: "broken", arguments: { word: "" } };
    expect(await callTool({ broken }, call, fakeContext(undefined), limits)).toMatchObject({ stop: "tool-crash" });
  });
});

describe("the episode's box", () => {
  test("is the same in every call, and refused once the call has ended", async () => {
    const context = fakeContext(undefined);
    let late: ToolContext["box"] | undefined;
    const run: Tool["run"] = async (_, { box, signal }) => {
      late = box;
      const { stdout } = await (await box()).exec("sh", { args: ["-c", "echo x >> log; cat log"], signal });
      return stdout;
    };
    expect(observationOf(await callOf(run, context, { toolMs: 30_000 }))).toBe("x\n");
    expect(observationOf(await callOf(run, context, { toolMs: 30_000 }))).toBe("x\nx\n");
    await expect(late!()).rejects.toThrow("call-ended");
    await context.close();
  });

  test("that cannot be had is the tool's fault, and says what is missing", async () => {
    const result = await callOf((_, { box }) => box({ atLeast: "virtual-machine" }));
    expect(result).toMatchObject({ kind: "stopped", stop: "tool-crash" });
    expect(failureOf(result)).toMatch(/sandbox-too-weak: got sandbox "process" .*"virtual-machine" or stronger/);
  });
});

describe("time and cancellation", () => {
  const strays: unknown[] = [];
  const note = (error: unknown) => void strays.push(error);
  beforeEach(() => void process.on("unhandledRejection", note));
  afterEach(() => {
    process.off("unhandledRejection", note);
    expect(strays).toEqual([]);
  });

  test("a tool that never answers is told and left", async () => {
    let seen: AbortSignal | undefined;
    const run: Tool["run"] = (_, { signal }) => {
      seen = signal;
      return never();
    };
    const result = await callOf(run, undefined, { toolMs: 20 });
    expect(result).toEqual({ kind: "stopped", stop: "tool-timeout", failure: 'tool "it": it took longer than 20 ms' });
    expect(seen).toMatchObject({ aborted: true, reason: { name: "TimeoutError" } });
  });

  test.each<[string, Tool["run"]]>([
    ["returns", () => "computed"],
    ["returns a promise", async () => "computed"],
    ["tells the policy of a mistake", () => Promise.reject(new ToolError("no"))],
    [
      "throws",
      () => {
        throw new ToolError("no");
      },
    ],
  ])("a tool that holds the thread for too long has not succeeded, even if it %s", async (_, run) => {
    const compute: Tool["run"] = (input, context) => {
      const until = performance.now() + 30;
      while (performance.now() < until);
      return run(input, context);
    };
    const result = await callOf(compute, undefined, { toolMs: 20 });
    expect(result).toEqual({ kind: "stopped", stop: "tool-timeout", failure: 'tool "it": it took longer than 20 ms' });
  });

  test("a tool that asks for its signal when it is too late finds it aborted", async () => {
    let late: boolean | undefined;
    await callOf(
      async (_, context) => {
        await sleep(30);
        late = context.signal.aborted;
      },
      undefined,
      { toolMs: 10 },
    );
    await vi.waitFor(() => expect(late).toBe(true));
  });

  test("what a tool does after its time is heard by nobody", async () => {
    const context = fakeContext(undefined);
    const run: Tool["run"] = async (_, { reward, finish }) => {
      await sleep(20);
      reward(1);
      finish("late");
      throw new Error("late");
    };
    expect(await callOf(run, context, { toolMs: 5 })).toMatchObject({ stop: "tool-timeout" });
    await sleep(40);
    expect(context).toMatchObject({ rewards: [], answers: [] });
  });

  test("a tool's own limit comes before the environment's", async () => {
    const slow = tool({ input: any, timeoutMs: 10, run: never });
    const result = await callTool({ slow }, { name: "slow", arguments: {} }, fakeContext(undefined), limits);
    expect(failureOf(result)).toBe('tool "slow": it took longer than 10 ms');
  });

  test("a schema that never answers is timed too", async () => {
    const input = z.object({ word: z.string().refine(never) });
    const slow = tool({ input, timeoutMs: 10, run: () => "" });
    const call = { name: "slow", arguments: { word: "" } };
    expect(await callTool({ slow }, call, fakeContext(undefined), limits)).toMatchObject({ stop: "tool-timeout" });
  });

  test("limits without end are none", async () => {
    const run = () => sleep(5, "answer");
    expect(observationOf(await callOf(run, undefined, { toolMs: Number.POSITIVE_INFINITY }))).toBe("answer");
  });

  test("an answer that came while this thread was busy counts", async () => {
    // another thread has the answer after some 5 ms; when this one is free again, it looks at its timers first
    const derive = promisify(pbkdf2);
    const pending = callOf(() => derive("", "", 10_000, 8, "sha256").then(() => "derived"), undefined, { toolMs: 30 });
    await immediate();
    const end = performance.now() + 150;
    while (performance.now() < end);
    expect(observationOf(await pending)).toBe("derived");
  });

  test("cancelling the rollout ends the call at once, and tells the tool why", async () => {
    const controller = new AbortController();
    let reason: unknown;
    const run: Tool["run"] = (_, { signal }) => {
      signal.addEventListener("abort", () => {
        reason = signal.reason;
      });
      return never();
    };
    const pending = callOf(run, fakeContext(undefined, controller.signal));
    controller.abort(new Error("the run was stopped"));
    expect(await pending).toEqual({
      kind: "stopped",
      stop: "cancelled",
      failure: 'tool "it": cancelled: the run was stopped',
    });
    expect(reason).toBe(controller.signal.reason);
  });

  test("a tool that fails because it was cancelled is cancelled, not broken", async () => {
    const controller = new AbortController();
    const pending = callOf((_, { signal }) => sleep(5_000, "", { signal }), fakeContext(undefined, controller.signal));
    controller.abort();
    expect(await pending).toMatchObject({ stop: "cancelled" });
  });

  test("nothing is run for a rollout that was cancelled before, or from within the tool", async () => {
    const ran: string[] = [];
    const before = fakeContext(undefined, AbortSignal.abort());
    expect(await callOf(() => void ran.push("it"), before)).toMatchObject({ stop: "cancelled" });
    expect(ran).toEqual([]);

    const controller = new AbortController();
    const run = () => {
      controller.abort();
      return never();
    };
    expect(await callOf(run, fakeContext(undefined, controller.signal))).toMatchObject({ stop: "cancelled" });
  });

  test("100,000 calls on one signal leave no listener and no timer", async () => {
    const controller = new AbortController();
    const context = fakeContext(undefined, controller.signal);
    const timers = () => process.getActiveResourcesInfo().filter((kind) => kind === "Timeout").length;
    const before = timers();
    const promising = tool({ input: any, run: async (_, { signal }) => signal.aborted });
    const all = { promising, prompt: tool({ input: any, run: () => "at once" }) };
    const names = ["promising", "prompt"];
    for (let call = 0; call < 100_000; call++) {
      await callTool(all, { name: names[call % 2], arguments: {} }, context, limits);
    }
    await callOf(never, context, { toolMs: 1 });
    expect(getEventListeners(controller.signal, "abort")).toEqual([]);
    expect(timers()).toBeLessThanOrEqual(before);
  });

  test("a tool that answers at once costs no timer and no listener even while it runs", async () => {
    const controller = new AbortController();
    const seen: unknown[] = [];
    const run: Tool["run"] = (_, { signal }) => {
      seen.push(signal.aborted, getEventListeners(controller.signal, "abort").length);
    };
    const pending = callOf(run, fakeContext(undefined, controller.signal));
    seen.push(getEventListeners(controller.signal, "abort").length);
    await pending;
    expect(seen).toEqual([0, false, 0]);
  });
});
