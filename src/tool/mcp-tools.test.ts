import { type ChildProcess, spawn } from "node:child_process";
import { getEventListeners, once } from "node:events";
import { mkdtemp, readFile, realpath, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { callTool } from "./call-tool.ts";
import { fakeContext } from "./fake-context.ts";
import { type McpTools, type McpToolsOptions, mcpTools } from "./mcp-tools.ts";
import { toolContract } from "./tool.contract.ts";

const limits = { toolMs: 10_000, observationChars: 10_000 };
const open: McpTools[] = [];
afterEach(async () => {
  for (const connection of open.splice(0)) await connection.close();
});

const oddServer = (...args: string[]) => ({
  command: process.execPath,
  args: [fileURLToPath(new URL("./fixtures/odd-mcp-server.ts", import.meta.url)), ...args],
});
const published = (name: string, ...args: string[]) => ({
  command: process.execPath,
  args: [fileURLToPath(import.meta.resolve(`@modelcontextprotocol/${name}/dist/index.js`)), ...args],
});

async function connect(server: Parameters<typeof mcpTools>[0], options?: McpToolsOptions): Promise<McpTools> {
  const connection = await mcpTools(server, options);
  open.push(connection);
  return connection;
}

const call = ({ tools }: McpTools, name: string, args = {}, given: Partial<typeof limits> = {}, signal?: AbortSignal) =>
  callTool(tools, { name, arguments: args }, fakeContext(undefined, signal), { ...limits, ...given });
const observed = (outcome: string, observation: unknown) => ({ kind: "observed", record: { outcome, observation } });

describe("the reference server", () => {
  let everything: McpTools;
  beforeAll(async () => {
    everything = await mcpTools(published("server-everything", "stdio"));
  });
  afterAll(() => everything.close());

  toolContract("echo over standard streams", () => everything.tools.echo, {
    state: () => undefined,
    right: { message: "hello" },
    wrong: [[{}, /^Error: Input validation error: .*expected string.*message/]],
  });

  test("its tools are described as it describes them", () => {
    expect(everything.tools.echo.spec).toEqual({
      description: "Echoes back the input string",
      parameters: {
        type: "object",
        properties: { message: { type: "string", description: "Message to echo" } },
        required: ["message"],
      },
    });
    // answers by and by only
    expect(everything.tools).not.toHaveProperty("simulate-research-query");
  });

  test.each([
    ["text", "get-sum", { a: 2, b: 3 }, "The sum of 2 and 3 is 5."],
    ["an image", "get-tiny-image", {}, expect.stringContaining("\n[image: image/png, 4033 bytes]\n")],
    ["links", "get-resource-links", {}, expect.stringContaining("[link: Text Resource 2, demo://resource/")],
    ["structure", "get-structured-content", { location: "Chicago" }, expect.stringMatching(/^\{"temperature":\d+,/)],
    [
      "a text within a resource",
      "get-resource-reference",
      { resourceType: "Text", resourceId: 1 },
      expect.stringContaining("Resource 1: This is a plaintext resource"),
    ],
    [
      "bytes within a resource",
      "get-resource-reference",
      { resourceType: "Blob", resourceId: 1 },
      expect.stringMatching(/\[resource: demo:\S+, text\/plain, \d+ bytes\]/),
    ],
  ])("%s becomes an observation", async (_, name, args, observation) => {
    expect(await call(everything, name, args)).toMatchObject(observed("ok", observation));
  });

  test("sees what it is given of the environment, and nothing else of ours", async () => {
    process.env.LUDUS_TEST_SECRET = "hidden";
    const { tools } = await connect({ ...published("server-everything"), env: { LUDUS_TEST_GIVEN: "seen" } });
    delete process.env.LUDUS_TEST_SECRET;
    const text = await tools["get-env"].run({}, fakeContext(undefined));
    expect(text).toContain("LUDUS_TEST_GIVEN");
    expect(text).not.toContain("LUDUS_TEST_SECRET");
  });

  test("hundreds of calls at a time are all answered, and nothing warns", async () => {
    const warnings: Error[] = [];
    const note = (warning: Error) => void warnings.push(warning);
    process.on("warning", note);
    const long = "x".repeat(2_000);
    const asked = Array.from({ length: 500 }, (_, index) => `${long} ${index}`);
    const results = await Promise.all(asked.map((message) => call(everything, "echo", { message })));
    process.off("warning", note);
    expect(results).toMatchObject(asked.map((message) => observed("ok", `Echo: ${message}`)));
    expect(warnings).toEqual([]);
  });
});

describe("the reference server over HTTP", () => {
  let server: ChildProcess;
  let url: string;
  let everything: McpTools;
  beforeAll(async () => {
    ({ server, url } = await startHttpServer());
    everything = await mcpTools({ url, headers: { "x-purpose": "test" } });
  });
  afterAll(async () => {
    await everything.close();
    if (server.exitCode === null && server.signalCode === null) server.kill("SIGKILL");
  });

  toolContract("echo over HTTP", () => everything.tools.echo, {
    state: () => undefined,
    right: { message: "hello" },
    wrong: [[{ message: 1 }, /expected string/]],
  });

  test("a server that dies in the middle of a call ends it, long before its time", async () => {
    const connection = await connect({ url });
    const pending = call(connection, "trigger-long-running-operation", { duration: 600, steps: 1 }, { toolMs: 60_000 });
    await call(connection, "echo", { message: "the other is under way" });
    server.kill("SIGKILL");
    const failure = expect.stringMatching(/mcp-call-failed.*connection was lost.*127\.0\.0\.1/);
    expect(await pending).toMatchObject({ kind: "stopped", stop: "tool-crash", failure });
    expect(await call(connection, "echo", { message: "x" })).toMatchObject({ kind: "stopped", stop: "tool-crash" });
  });

  test("nobody at the address", async () => {
    await expect(mcpTools({ url: "http://127.0.0.1:9/mcp" })).rejects.toThrow(/mcp-not-connected.*127\.0\.0\.1:9/);
  });
});

test("the file server reads, writes and refuses", async () => {
  const folder = await realpath(await mkdtemp(join(tmpdir(), "ludus-mcp-")));
  try {
    await writeFile(join(folder, "tea.txt"), "green");
    const only = ["read_text_file", "write_file"];
    const files = await connect(published("server-filesystem", folder), { only });
    expect(Object.keys(files.tools)).toEqual(only);
    expect(await call(files, "read_text_file", { path: join(folder, "tea.txt") })).toMatchObject(
      observed("ok", "green"),
    );
    await call(files, "write_file", { path: join(folder, "new.txt"), content: "black" });
    expect(await readFile(join(folder, "new.txt"), "utf8")).toBe("black");
    expect(await call(files, "read_text_file", { path: "/etc/passwd" })).toMatchObject(
      observed("error", expect.stringMatching(/^Error: Access denied/)),
    );
  } finally {
    await rm(folder, { recursive: true });
  }
});

describe("servers that misbehave", () => {
  let shared: McpTools;
  beforeAll(async () => {
    shared = await mcpTools(oddServer(), { timeoutMs: 5_000 });
  });
  afterAll(() => shared.close());

  test("all pages of the list are read", () => expect(Object.keys(shared.tools)).toHaveLength(16));

  test.each([
    ["fail", observed("error", "Error: that cannot be done")],
    ["fail-silently", observed("error", 'Error: "fail-silently" failed and did not say why')],
    ["refuse", observed("error", "Error: city: expected a string")],
    ["nothing", observed("ok", "ok")],
    ["structured", observed("ok", '{"degrees":21}')],
    ["break", { stop: "tool-crash", failure: expect.stringMatching(/mcp-call-failed.*the database is away/) }],
    ["nonsense", { stop: "tool-crash", failure: expect.stringMatching(/mcp-call-failed/) }],
  ])("%s", async (name, result) => {
    expect(await call(shared, name)).toMatchObject(result);
  });

  test("one that dies ends the calls under way, with its last words, and the next call starts it again", async () => {
    const warnings: Error[] = [];
    const note = (warning: Error) => void warnings.push(warning);
    process.on("warning", note);
    const odd = await connect(oddServer());
    const first = await call(odd, "pid");
    const [hanging, dying] = await Promise.all([call(odd, "hang"), call(odd, "die")]);
    const failure = expect.stringMatching(/mcp-call-failed.*Connection closed.*odd-mcp-server.*out of paper/);
    expect(hanging).toMatchObject({ stop: "tool-crash", failure });
    expect(dying).toMatchObject({ stop: "tool-crash", failure });
    const [second, third] = await Promise.all([call(odd, "pid"), call(odd, "pid")]);
    expect(second).toMatchObject(observed("ok", expect.stringMatching(/^\d+$/)));
    expect(second).not.toEqual(first);
    expect(third).toEqual(second);
    process.off("warning", note);
    expect(warnings.map(({ message }) => message)).toEqual([
      expect.stringMatching(/lost and connected again.*what it kept is gone.*odd-mcp-server.*out of paper/),
    ]);
  });

  test("an answer that is too large costs its call, and the server goes on", async () => {
    const odd = await connect(oddServer());
    const pid = await call(odd, "pid");
    const [large, other] = await Promise.all([call(odd, "huge"), call(odd, "pid")]);
    expect(large).toMatchObject(observed("error", "Error: the answer is larger than 10 MiB: ask for less"));
    expect(other).toEqual(pid);
    expect(await call(odd, "pid")).toEqual(pid);
  });

  test.each([
    ["endless", /mcp-not-listed.*the cursor "0" twice/],
    ["ever-new", /mcp-not-listed.*more than 100 pages/],
  ])("a list of tools without end (%s)", async (mode, message) => {
    await expect(mcpTools(oddServer(mode))).rejects.toThrow(message);
  });

  test("a call that takes too long or is cancelled is called off at the server, and leaves no listener", async () => {
    const timed = { hang: { ...shared.tools.hang, timeoutMs: 20 } };
    expect(await call({ ...shared, tools: timed }, "hang")).toMatchObject({ stop: "tool-timeout" });
    const controller = new AbortController();
    const pending = call(shared, "hang", {}, {}, controller.signal);
    setTimeout(() => controller.abort(), 5);
    expect(await pending).toMatchObject({ stop: "cancelled" });
    expect(await call(shared, "cancelled")).toMatchObject(observed("ok", "2"));

    const { signal } = new AbortController();
    for (let index = 0; index < 20; index++) await shared.tools.pid.run({}, fakeContext(undefined, signal));
    expect(getEventListeners(signal, "abort")).toEqual([]);
  });

  test("`timeoutMs` is for connecting and for calls", async () => {
    const began = performance.now();
    const mute = mcpTools({ command: process.execPath, args: ["-e", "process.stdin.resume()"] }, { timeoutMs: 50 });
    await expect(mute).rejects.toThrow(/mcp-not-connected.*timed out/);
    expect(performance.now() - began).toBeLessThan(5_000);
    expect(shared.tools.pid.timeoutMs).toBe(5_000);
  });

  test("a program that does not exist, and one that fails at once", async () => {
    await expect(mcpTools({ command: "no-such-program-of-ludus" })).rejects.toThrow(/mcp-not-connected.*ENOENT/);
    const failing = { command: process.execPath, args: ["-e", "console.error('no key'); process.exit(1)"] };
    await expect(mcpTools(failing)).rejects.toThrow(/mcp-not-connected.*no key/);
  });

  test("a failure tells neither keys on the command line nor what the server was given of the environment", async () => {
    const program = "console.error('cannot use ' + process.env.SERVICE); process.exit(1)";
    const env = { SERVICE: "hush-hush" };
    const failing = { command: process.execPath, args: ["-e", program, "--", "--api-key", "abc123"], env };
    const error = await mcpTools(failing).catch(String);
    expect(error).toMatch(/mcp-not-connected.*--api-key \[redacted\].*cannot use \[SERVICE\]/s);
    expect(error).not.toMatch(/abc123|hush/);
  });

  test("a tool that is not offered", async () => {
    await expect(mcpTools(oddServer(), { only: ["canceled"] })).rejects.toThrow(
      /unknown-mcp-tool: got "canceled", expected one of pid, fail, .*Did you mean "cancelled"\?/,
    );
  });

  test("closing ends the server, ends calls, and can be done twice", async () => {
    const odd = await mcpTools(oddServer());
    const pid = Number(await odd.tools.pid.run({}, fakeContext(undefined)));
    expect(isAlive(pid)).toBe(true);
    const pending = call(odd, "hang");
    await Promise.all([odd.close(), odd[Symbol.asyncDispose]()]);
    expect(isAlive(pid)).toBe(false);
    expect(await pending).toMatchObject({ stop: "tool-crash", failure: expect.stringContaining("Connection closed") });
  });
});

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

// as published it listens on every address and does not say at which port
const listenLocally = `import net from "node:net";
const { listen } = net.Server.prototype;
net.Server.prototype.listen = function (_port, listening) {
  return listen.call(this, 0, "127.0.0.1", () => { console.log("PORT " + this.address().port); listening(); });
};`;

async function startHttpServer(): Promise<{ server: ChildProcess; url: string }> {
  const { command, args } = published("server-everything", "streamableHttp");
  const preload = ["--import", `data:text/javascript,${encodeURIComponent(listenLocally)}`];
  const server = spawn(command, [...preload, ...args], { stdio: ["ignore", "pipe", "ignore"] });
  const lines = createInterface({ input: server.stdout });
  for (;;) {
    const [line] = (await once(lines, "line")) as [string];
    if (line.startsWith("PORT ")) return { server, url: `http://127.0.0.1:${line.slice(5)}/mcp` };
  }
}
