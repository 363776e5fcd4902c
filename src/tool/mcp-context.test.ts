import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { callTool } from "./call-tool.ts";
import { fakeContext } from "./fake-context.ts";
import { mcpProtocols } from "./mcp-server.ts";
import { type McpTools, mcpTools } from "./mcp-tools.ts";

const program = (path: string, ...args: string[]) => ({ command: process.execPath, args: [path, ...args] });
const odd = program(fileURLToPath(new URL("./fixtures/odd-mcp-server.ts", import.meta.url)));
const everything = program(
  fileURLToPath(import.meta.resolve("@modelcontextprotocol/server-everything/dist/index.js")),
  "stdio",
);
const limits = { toolMs: 20_000, observationChars: 100_000 };
const call = ({ tools }: McpTools, name: string, args = {}) =>
  callTool(tools, { name, arguments: args }, fakeContext(undefined), limits);
const observed = (outcome: string, observation: unknown) => ({ kind: "observed", record: { outcome, observation } });

describe("resources and prompts of the reference server", () => {
  let server: McpTools;
  beforeAll(async () => {
    server = await mcpTools(everything, { only: ["echo"], resources: true, prompts: true });
  });
  afterAll(() => server.close());

  test("are tools for the policy, next to the server's own", async () => {
    expect(Object.keys(server.tools)).toEqual([
      "echo",
      "list_resources",
      "read_resource",
      "list_prompts",
      "get_prompt",
    ]);
    const listed = await call(server, "list_resources");
    expect(listed).toMatchObject(
      observed("ok", expect.stringContaining("demo://resource/dynamic/text/{resourceId} (Dynamic Text Resource: ")),
    );
    expect(await call(server, "read_resource", { uri: "demo://resource/dynamic/text/7" })).toMatchObject(
      observed("ok", expect.stringContaining("Resource 7: This is a plaintext resource")),
    );
    expect(await call(server, "list_prompts")).toMatchObject(
      observed("ok", expect.stringContaining("args-prompt(city, state?): A prompt with two arguments")),
    );
    expect(await call(server, "get_prompt", { name: "args-prompt", arguments: { city: "Oslo" } })).toMatchObject(
      observed("ok", "user: What's weather in Oslo?"),
    );
  });

  test("are there for the program, for the first message of a task", async () => {
    const prompts = await server.listPrompts();
    expect(prompts).toContainEqual({
      name: "args-prompt",
      description: expect.any(String),
      arguments: [
        { name: "city", description: "Name of the city", required: true },
        { name: "state", required: false },
      ],
    });
    expect(await server.getPrompt("args-prompt", { city: "Oslo" })).toEqual([
      { role: "user", content: "What's weather in Oslo?" },
    ]);
    expect((await server.listResources()).some(({ isTemplate }) => isTemplate)).toBe(true);
    expect(await server.readResource("demo://resource/dynamic/blob/1")).toMatch(
      /^\[resource: demo:\S+, text\/plain, \d+ bytes\]$/,
    );
  });

  test.each([
    ["read_resource", {}, /^Error: wrong arguments for "read_resource": uri: expected a string/],
    ["read_resource", { uri: "demo://nothing" }, /^Error: .*demo:\/\/nothing.* not found/i],
    ["get_prompt", { name: "args-prompt" }, /^Error: .*city/s],
    ["get_prompt", { name: "no-prompt" }, /^Error: .*no-prompt not found/],
    ["get_prompt", { name: "args-prompt", arguments: { city: 1 } }, /arguments\.city: expected a string/],
    ["get_prompt", { name: "args-prompt", arguments: ["Oslo"] }, /arguments: expected an object/],
  ])("what is wrong with %s of %j is told to the policy", async (name, args, message) => {
    expect(await call(server, name, args)).toMatchObject({
      kind: "observed",
      record: { observation: expect.stringMatching(message) },
    });
  });

  test("what is wrong is thrown in the program", async () => {
    await expect(server.getPrompt("args-prompt")).rejects.toThrow(/mcp-no-prompt: got .*city/s);
    await expect(server.readResource("demo://nothing")).rejects.toThrow(/mcp-not-read: got .*not found/s);
  });
});

describe.each(mcpProtocols)("an odd server, version %s", (protocol) => {
  let server: McpTools;
  beforeAll(async () => {
    server = await mcpTools(odd, { protocol, resources: true, prompts: true });
  });
  afterAll(() => server.close());

  test("a resource of 100 MB costs its call alone", async () => {
    const pid = await call(server, "pid");
    expect(await call(server, "read_resource", { uri: "odd://huge" })).toMatchObject(
      observed("error", "Error: the answer is larger than 10 MiB: ask for less"),
    );
    await expect(server.readResource("odd://huge")).rejects.toThrow(/mcp-not-read: .*larger than 10 MiB/);
    expect(await call(server, "pid")).toEqual(pid);
  });

  test("a prompt without an argument that it needs", async () => {
    expect(await call(server, "get_prompt", { name: "greet" })).toMatchObject(
      observed("error", "Error: who: expected a string"),
    );
    expect(await server.getPrompt("greet", { who: "Ada" })).toEqual([{ role: "user", content: "Greet Ada kindly." }]);
  });
});

test("options that are misspelt, or have no such value", async () => {
  await expect(mcpTools(odd, { resource: true } as never)).rejects.toThrow(/did you mean "resources"/);
  await expect(mcpTools(odd, { protocol: "2026-07-29" as never })).rejects.toThrow(/bad-option.*Did you mean/);
});

test("a version that the server does not speak", async () => {
  await expect(mcpTools(everything, { protocol: "2026-07-28" })).rejects.toThrow(
    /mcp-not-connected.*2026-07-28.*Leave `protocol` out/s,
  );
});

test("the newest version that both speak, also with a server that exits at the question", async () => {
  const newest = await mcpTools(odd);
  expect(newest.protocol).toBe("2026-07-28");
  await newest.close();
  const handshake = await mcpTools({ ...odd, args: [...odd.args, "once"] });
  expect(handshake.protocol).toBe("2025-11-25");
  await handshake.close();
});
