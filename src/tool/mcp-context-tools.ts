import { defined } from "../defined.ts";
import { LudusError } from "../errors.ts";
import type { Message } from "../schema/message.ts";
import { AnswerTooLarge, answerTooLarge } from "./mcp-bounds.ts";
import { errorCode, type McpConnection } from "./mcp-connection.ts";
import { describeContent, describeResource } from "./mcp-content.ts";
import type { McpContext, McpPrompt, McpResource } from "./mcp-context.ts";
import { type Tool, ToolError } from "./tool.ts";

/** The same for whoever has a signal, with the errors as they are. */
export class McpReader {
  readonly #connection: McpConnection;

  constructor(connection: McpConnection) {
    this.#connection = connection;
  }

  async listResources(signal: AbortSignal): Promise<McpResource[]> {
    const listed = await this.#connection.list("resources/list", signal);
    const templates = await this.#connection.list("resources/templates/list", signal).catch((error: unknown) => {
      // a server with resources need not have templates, nor know the word
      if (errorCode(error) === methodNotFound) return [];
      throw error;
    });
    const plain = listed.map(({ uri, name, description, mimeType }) => ({
      uri,
      name,
      ...defined({ description, mimeType }),
    }));
    const filled = templates.map(({ uriTemplate, name, description, mimeType }) => ({
      uri: uriTemplate,
      name,
      ...defined({ description, mimeType }),
      isTemplate: true,
    }));
    return [...plain, ...filled];
  }

  async readResource(uri: string, signal: AbortSignal): Promise<string> {
    const request = { method: "resources/read" as const, params: { uri } };
    const { contents } = await this.#connection.send((client, options) => client.request(request, options), signal);
    return contents.map(describeResource).join("\n");
  }

  async listPrompts(signal: AbortSignal): Promise<McpPrompt[]> {
    const listed = await this.#connection.list("prompts/list", signal);
    return listed.map(({ name, description, arguments: given = [] }) => ({
      name,
      ...defined({ description }),
      arguments: given.map((each) => ({
        name: each.name,
        ...defined({ description: each.description }),
        required: each.required ?? false,
      })),
    }));
  }

  async getPrompt(name: string, args: Readonly<Record<string, string>>, signal: AbortSignal): Promise<Message[]> {
    const request = { method: "prompts/get" as const, params: { name, arguments: { ...args } } };
    const { messages } = await this.#connection.send((client, options) => client.request(request, options), signal);
    return messages.map(({ role, content }) => ({ role, content: describeContent(content) }));
  }
}

const methodNotFound = -32601;

/** For programs. */
export function mcpContext(connection: McpConnection, timeoutMs: number): McpContext {
  const reader = new McpReader(connection);
  async function within<Value>(what: string, work: (signal: AbortSignal) => Promise<Value>): Promise<Value> {
    const signal = AbortSignal.timeout(Math.min(timeoutMs, 2 ** 31 - 1));
    try {
      return await work(signal);
    } catch (error) {
      const late = new Error(`no answer within ${timeoutMs} ms`);
      const cause = signal.aborted ? late : errorCode(error) === answerTooLarge ? new AnswerTooLarge() : error;
      throw connection.failure(what, cause);
    }
  }
  return {
    listResources: () => within("mcp-not-listed", (signal) => reader.listResources(signal)),
    readResource: (uri) => within("mcp-not-read", (signal) => reader.readResource(uri, signal)),
    listPrompts: () => within("mcp-not-listed", (signal) => reader.listPrompts(signal)),
    getPrompt: (name, args = {}) => within("mcp-no-prompt", (signal) => reader.getPrompt(name, args, signal)),
  };
}

const text = { type: "string" };
const objectOf = (properties: object, required: readonly string[] = []) => ({
  type: "object",
  properties,
  ...(required.length > 0 && { required }),
});

type ContextToolName = "list_resources" | "read_resource" | "list_prompts" | "get_prompt";

/** For policies: tools with which it finds and reads what the server has. */
export function contextTools(
  connection: McpConnection,
  { resources = false, prompts = false, timeoutMs }: { resources?: boolean; prompts?: boolean; timeoutMs?: number },
): Record<string, Tool> {
  const reader = new McpReader(connection);
  const all: Record<
    ContextToolName,
    Omit<Tool, "check" | "run"> & { run(input: Given, signal: AbortSignal): unknown }
  > = {
    list_resources: {
      spec: { description: "Lists what can be read with read_resource", parameters: objectOf({}) },
      run: async (_, signal) => lines((await reader.listResources(signal)).map(resourceLine)),
    },
    read_resource: {
      spec: { description: "Reads a resource", parameters: objectOf({ uri: text }, ["uri"]) },
      run: ({ uri }, signal) => reader.readResource(uri, signal),
    },
    list_prompts: {
      spec: { description: "Lists what can be had with get_prompt", parameters: objectOf({}) },
      run: async (_, signal) => lines((await reader.listPrompts(signal)).map(promptLine)),
    },
    get_prompt: {
      spec: {
        description: "Gets a prompt, written with the given arguments",
        parameters: objectOf({ name: text, arguments: { type: "object", additionalProperties: text } }, ["name"]),
      },
      run: async ({ name, arguments: args = {} }, signal) =>
        lines((await reader.getPrompt(name, args, signal)).map(({ role, content }) => `${role}: ${content}`)),
    },
  };
  const names: ContextToolName[] = [
    ...(resources ? (["list_resources", "read_resource"] as const) : []),
    ...(prompts ? (["list_prompts", "get_prompt"] as const) : []),
  ];
  const tools = names.map((name): [string, Tool] => {
    const { spec, run } = all[name];
    return [
      name,
      {
        spec,
        check: (input) => checkGiven(name, input),
        run: (input, { signal }) => told(connection, async () => run(input as Given, signal)),
        ...defined({ timeoutMs }),
      },
    ];
  });
  return Object.fromEntries(tools);
}

/** What `check` lets through: `uri` or `name` where the tool needs it, and arguments that are texts. */
interface Given {
  readonly uri: string;
  readonly name: string;
  readonly arguments?: Readonly<Record<string, string>>;
}

function checkGiven(tool: ContextToolName, input: unknown): ReturnType<Tool["check"]> {
  const given = (typeof input === "object" && input !== null ? input : {}) as Record<string, unknown>;
  const needed = { list_resources: undefined, read_resource: "uri", list_prompts: undefined, get_prompt: "name" }[tool];
  if (needed !== undefined && typeof given[needed] !== "string")
    return { ok: false, problem: `${needed}: expected a string` };
  const args = given.arguments;
  if (args === undefined) return { ok: true, value: given };
  if (typeof args !== "object" || args === null || Array.isArray(args))
    return { ok: false, problem: "arguments: expected an object" };
  const wrong = Object.entries(args).find(([, value]) => typeof value !== "string");
  if (wrong !== undefined) return { ok: false, problem: `arguments.${wrong[0]}: expected a string` };
  return { ok: true, value: given };
}

/** What the server refuses is told to the policy, what breaks is a fault of the tool. */
async function told<Value>(connection: McpConnection, work: () => Promise<Value>): Promise<Value> {
  try {
    return await work();
  } catch (error) {
    const code = errorCode(error);
    if (code === answerTooLarge) throw new ToolError(`${new AnswerTooLarge().message}: ask for less`);
    if (error instanceof Error && refusals.includes(Number(code))) throw new ToolError(plainMessage(error.message));
    throw connection.failure("mcp-call-failed", error);
  }
}

// wrong parameters; "resource not found" in versions before 2026-07-28
const refusals = [-32602, -32002];

/** The SDK's servers and its client put the code in front, which tells a policy nothing. */
export const plainMessage = (message: string) => message.replace(/^(MCP error -?\d+: )+/, "");

const lines = (texts: readonly string[]) => (texts.length === 0 ? "nothing" : texts.join("\n"));

const described = (name: string, description: string | undefined) =>
  description === undefined || description === "" ? name : `${name}: ${description}`;

const resourceLine = ({ uri, name, description }: McpResource) => `${uri} (${described(name, description)})`;

function promptLine({ name, description, arguments: args }: McpPrompt): string {
  const given = args.map((each) => `${each.name}${each.required ? "" : "?"}`);
  return described(`${name}(${given.join(", ")})`, description);
}

export function checkContextNames(own: readonly string[], tools: Readonly<Record<string, Tool>>, server: string): void {
  const taken = own.find((name) => Object.hasOwn(tools, name));
  if (taken === undefined) return;
  throw new LudusError("tool-name-taken", {
    got: `a tool "${taken}" of ${server}`,
    expected: `no tool of that name where \`resources\` or \`prompts\` add their own`,
    hint: `Leave the option out: the server has a tool for it, or leave the tool out with \`only\`.`,
  });
}
