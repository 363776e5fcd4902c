import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, describe, expect, test } from "vitest";
import { z } from "zod";
import { tool } from "../tool/define-tool.ts";
import { processSandbox } from "../tool/sandbox/process-sandbox.ts";
import { ToolError } from "../tool/tool.ts";
import { serveTools, type ToolServer, type ToolServerOptions } from "./tool-server.ts";
import type { ActionTool } from "./tools/action-tool.ts";
import { pythonAction, shellAction, sqlAction } from "./tools/code-tools.ts";
import { mcpAction, searchAction } from "./tools/lookup-tools.ts";

const timeoutMs = 10_000;
const folder = mkdtempSync(join(tmpdir(), "ludus-tool-server-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

let server: ToolServer | undefined;
afterEach(() => server?.close());

async function serve(tools: readonly ActionTool[], options: Partial<ToolServerOptions> = {}): Promise<ToolServer> {
  server = await serveTools({ tools, sandbox: processSandbox(), ...options });
  return server;
}

async function post(body: unknown, url = server!.url): Promise<{ status: number; json: Record<string, unknown[]> }> {
  const response = await fetch(url, { method: "POST", body: typeof body === "string" ? body : JSON.stringify(body) });
  return { status: response.status, json: (await response.json()) as Record<string, unknown[]> };
}

async function act(id: string, action: string, more: Record<string, unknown[]> = {}) {
  const { json } = await post({ trajectory_ids: [id], actions: [action], ...more });
  return { observation: json.observations[0], done: json.dones[0], valid: json.valids[0] };
}

/** Answers with what it was told to. */
const echo = (name: string, priority: number, wait?: Promise<void>): ActionTool => ({
  name,
  usage: `<${name}>`,
  priority: (action) => (action.includes("call") ? priority : -1),
  async run(action, { state, extra }) {
    await wait;
    state.set("turns", Number(state.get("turns") ?? 0) + 1);
    return { observation: `${name} ${action} ${state.get("turns")} ${extra.note ?? ""}`.trim() };
  },
});

describe("the protocol", () => {
  test("the tool with the highest priority gets the action, and each trajectory has a state until it is finished", async () => {
    await serve([echo("low", 0), echo("high", 2), echo("late", 2)]);
    expect(await act("a", "call")).toEqual({ observation: "high call 1", done: false, valid: true });
    expect(await act("a", "call")).toMatchObject({ observation: "high call 2" });
    expect(await act("b", "call", { extra_fields: [{ note: "seen" }] })).toMatchObject({
      observation: "high call 1 seen",
    });
    expect(await act("a", "", { finish: [true] })).toEqual({ observation: "", done: true, valid: true });
    expect(await act("a", "call", { is_last_step: [true] })).toMatchObject({ observation: "high call 1" });
  });

  test("a text without a call is not valid and says what there is; it ends the trajectory where asked", async () => {
    await serve([echo("low", 0)]);
    expect(await act("a", "hello")).toMatchObject({
      observation: { obs: "", invalid_reason: expect.stringContaining("<low>") },
      done: false,
      valid: false,
    });
    await server!.close();
    await serve([echo("low", 0)], { doneIfInvalid: true });
    expect(await act("a", "hello")).toMatchObject({ done: true, valid: false });
  });

  test("a batch is answered in its order; calls of one trajectory come one after the other", async () => {
    await serve([echo("low", 0)]);
    const { json } = await post({
      trajectory_ids: ["a", 7, "a"],
      actions: ["call", "call x", "call"],
      finish: [false, false, false],
    });
    expect(json.observations).toEqual(["low call 1", "low call x 1", "low call 2"]);
  });

  test("a trajectory does not wait for another that is slow", async () => {
    const slow = Promise.withResolvers<void>();
    await serve([
      { ...echo("slow", 1, slow.promise), priority: (action) => (action === "slow call" ? 1 : -1) },
      echo("low", 0),
    ]);
    const waiting = act("a", "slow call");
    expect(await act("b", "call")).toMatchObject({ observation: "low call 1" });
    slow.resolve();
    expect(await waiting).toMatchObject({ observation: "slow slow call 1" });
  });

  test("a tool that fails ends its trajectory, says so without secrets, and leaves the others", async () => {
    const broken: ActionTool = {
      name: "broken",
      usage: "",
      priority: (action) => (action === "break" ? 1 : -1),
      run: () => Promise.reject(new Error("password=hunter22222 refused")),
    };
    await serve([broken, echo("low", 0)]);
    const { json } = await post({ trajectory_ids: ["a", "b"], actions: ["break", "call"] });
    expect(json.dones).toEqual([true, false]);
    expect(json.observations[0]).toMatchObject({ obs: "", error: expect.stringContaining("broken: ") });
    expect(JSON.stringify(json)).not.toContain("hunter22222");
  });

  test.each([
    ["no JSON", "{", 400],
    ["no actions", { trajectory_ids: ["a"] }, 400],
    ["lists of two lengths", { trajectory_ids: ["a"], actions: ["x", "y"] }, 400],
    ["a field that is no list", { trajectory_ids: ["a"], actions: ["x"], finish: true }, 400],
    [
      "nothing nested too deep",
      `{"trajectory_ids":["a"],"actions":["x"],"extra_fields":[{"a":${"[".repeat(500)}${"]".repeat(500)}}]}`,
      400,
    ],
    ["too much", { trajectory_ids: ["a"], actions: ["x".repeat(9 << 20)] }, 413],
  ])("%s is refused", async (_, body, status) => {
    await serve([echo("low", 0)]);
    expect((await post(body)).status).toBe(status);
  });

  test("the key stands in the address, and other machines need one", async () => {
    await serve([echo("low", 0)], { apiKey: "open sesame" });
    expect(await act("a", "call")).toMatchObject({ valid: true });
    const wrong = server!.url.replace("open", "shut");
    expect((await post({ trajectory_ids: ["a"], actions: ["call"] }, wrong)).status).toBe(401);
    await expect(serveTools({ tools: [echo("low", 0)], host: "0.0.0.0" })).rejects.toMatchObject({
      code: "key-required",
    });
    await expect(serveTools({ tools: [] })).rejects.toMatchObject({ code: "bad-option" });
    await expect(serveTools({ tools: [echo("low", 0)], prot: 1 } as never)).rejects.toThrow('did you mean "port"');
  });

  test("states that nobody asks for make room for new ones; what is in use stays", async () => {
    let now = 0;
    await serve([echo("low", 0)], { maxTrajectories: 2, idleMs: 1_000, now: () => now });
    await act("a", "call");
    await act("b", "call");
    expect((await post({ trajectory_ids: ["c"], actions: ["call"] })).status).toBe(429);
    // before any of them is run: the request may be sent again
    expect((await post({ trajectory_ids: ["b", "c"], actions: ["call", "call"] })).status).toBe(429);
    now = 1_500;
    await act("b", "call");
    expect(await act("c", "call")).toMatchObject({ observation: "low call 1" });
    expect(await act("b", "call")).toMatchObject({ observation: "low call 3" });
  });
});

describe("tools", () => {
  test("python and shell share the files of a trajectory, and no other's", async () => {
    await serve([pythonAction({ timeoutMs }), shellAction({ timeoutMs })]);
    expect(await act("a", "So:\n```python\nopen('x','w').write('7')\nprint(6 * 7)\n```")).toMatchObject({
      observation: "42",
      valid: true,
    });
    expect(await act("a", "<bash>cat x; mkdir -p deep && cd deep</bash>")).toMatchObject({ observation: "7" });
    expect(await act("a", "<bash>basename $PWD</bash>")).toMatchObject({ observation: "deep" });
    expect(await act("b", "<bash>cat x</bash>")).toMatchObject({
      observation: expect.stringContaining("exited with code 1"),
    });
    expect(await act("a", "<python>raise ValueError('no')</python>")).toMatchObject({
      observation: expect.stringContaining("ValueError: no"),
      done: false,
    });
  });

  test("a program without end is ended and said to be", async () => {
    await serve([pythonAction({ timeoutMs: 300 })]);
    expect(await act("a", "<python>while True: pass</python>")).toMatchObject({
      observation: "(took longer than 300 ms)",
      done: false,
    });
  });

  test("sql works on the trajectory's own copy, and a solution ends it", async () => {
    const path = join(folder, "data.db");
    const script =
      "import sqlite3,sys; c=sqlite3.connect(sys.argv[1]); c.executescript(\"create table t(a,b); insert into t values (1,'x'),(2,null)\")";
    execFileSync("python3", ["-c", script, path]);
    await serve([sqlAction({ timeoutMs, database: readFileSync(path) })]);
    expect(await act("a", "<sql>delete from t where a = 1; select * from t</sql>")).toMatchObject({
      observation: "a | b\n2 | NULL",
    });
    expect(await act("b", "<sql>select count(*) as n from t</sql>")).toMatchObject({ observation: "n\n2" });
    expect(await act("b", "<sql>select missing from t</sql>")).toMatchObject({
      observation: expect.stringContaining("no such column"),
    });
    expect(await act("b", "<sql>select 'x;y' as s;</sql>")).toMatchObject({ observation: "s\nx;y" });
    expect(await act("b", "<solution>select 1</solution>")).toMatchObject({ done: true, valid: true });
  });

  test("search finds documents by their words", async () => {
    await serve([searchAction([{ title: "Tea", text: "green leaves" }, { text: "black coffee" }])]);
    expect(await act("a", "<search>green tea</search>")).toMatchObject({
      observation: "Doc 1 (Title: Tea) green leaves",
    });
    expect(await act("a", "<search>milk</search>")).toMatchObject({ observation: "Nothing was found." });
  });

  test("tools of an MCP server are called by name; a wrong call is told", async () => {
    const tools = {
      add: tool({ description: "adds", input: z.object({ a: z.number() }), run: ({ a }) => a + 1 }),
      refuse: tool({
        description: "refuses",
        input: z.object({}),
        run: () => {
          throw new ToolError("not today");
        },
      }),
    };
    const mcp = { tools, close: async () => {} };
    await serve([mcpAction(mcp, { timeoutMs })]);
    const call = (text: string) => act("a", `<tool_call>${text}</tool_call>`);
    expect(await call('{"name":"add","arguments":{"a":1}}')).toEqual({ observation: "2", done: false, valid: true });
    expect(await call('{"name":"refuse"}')).toMatchObject({
      observation: expect.stringContaining("not today"),
      valid: true,
    });
    expect(await call('{"name":"sub","arguments":{}}')).toMatchObject({ valid: false });
    expect(await call("{")).toMatchObject({ observation: expect.stringContaining("in JSON"), valid: false });
  });
});

describe("trajectories that end while they are used", () => {
  test("a call and a `finish` of the same request leave no box behind", async () => {
    let [opened, closed] = [0, 0];
    const plain = processSandbox();
    const sandbox: typeof plain = {
      ...plain,
      async open(...args) {
        const box = await plain.open(...args);
        opened++;
        return {
          ...box,
          exec: box.exec.bind(box),
          close: async () => {
            closed++;
            await box.close();
          },
        };
      },
    };
    const opens: ActionTool = {
      name: "opens",
      usage: "call",
      priority: () => 0,
      async run(_, { box }) {
        await box.open();
        return { observation: "opened" };
      },
    };
    await serve([opens, echo("echo", 1)], { sandbox });
    // its state is there, its box is not
    await act("a", "call");
    await post({ trajectory_ids: ["a", "a"], actions: ["open", ""], finish: [false, true] });
    expect(opened).toBe(closed);
  });

  test("a tool whose priority throws ends its own trajectory alone", async () => {
    const broken: ActionTool = {
      ...echo("broken", 1),
      priority: (action) => {
        if (action.includes("bad")) throw new Error("no such thing");
        return -1;
      },
    };
    await serve([broken, echo("echo", 0)]);
    const { status, json } = await post({ trajectory_ids: ["a", "b"], actions: ["bad call", "call"] });
    expect(status).toBe(200);
    expect(json).toMatchObject({
      observations: [{ obs: "", error: "no such thing" }, "echo call 1"],
      dones: [true, false],
      valids: [false, true],
    });
  });

  test("arguments that are nested too deep are no call", async () => {
    const mcp = { tools: {}, close: async () => {} } as unknown as Parameters<typeof mcpAction>[0];
    await serve([mcpAction(mcp, { timeoutMs })]);
    const deep = `${"[".repeat(100_000)}${"]".repeat(100_000)}`;
    const call = `<tool_call>{"name": "x", "arguments": {"a": ${deep}}}</tool_call>`;
    expect(await act("a", call)).toMatchObject({ observation: expect.stringContaining("a call is"), valid: false });
  });

  test("what a server with a key has is not told without it", async () => {
    const { url } = await serve([echo("secret-tool", 0)], { apiKey: "0123456789" });
    const health = await fetch(new URL("/health", url));
    expect(await health.json()).toEqual({ status: "healthy" });
  });
});
