import { z } from "zod";
import { parseBoundedJson } from "../../bounded-json.ts";
import { bounds } from "../../bounds.ts";
import { cutText } from "../../cut-text.ts";
import { defined } from "../../defined.ts";
import { errorText, LudusError } from "../../errors.ts";
import { type OpenEnvAddress, protocolError, unreachable } from "./open-env-connection.ts";
import { isObject, type JsonObject } from "./open-env-texts.ts";

export interface ServerTool {
  readonly name: string;
  readonly description: string;
  readonly parameters: JsonObject;
}

/** What a server says of itself before any episode. */
export interface AskedServer {
  readonly name: string;
  readonly description: string;
  readonly action: JsonObject;
  readonly tools: readonly ServerTool[];
  /** Whether tools are called by steps, which pay rewards, or beside them. */
  readonly callsBySteps: boolean;
  /** Whether there are actions besides calls of tools. */
  readonly takesActions: boolean;
}

const Schemas = z.object({ action: z.record(z.string(), z.unknown()) });
const Metadata = z.object({ name: z.string(), description: z.string().default("") });
const Tools = z.object({
  result: z.object({
    tools: z.array(
      z.object({
        name: z.string(),
        description: z.string().nullish(),
        inputSchema: z.record(z.string(), z.unknown()).optional(),
        input_schema: z.record(z.string(), z.unknown()).optional(),
      }),
    ),
  }),
});
const maxDescriptionChars = 200;
/** Fields that every action has, and those of a call. */
const callFields = ["metadata", "type", "tool_name", "arguments"];

export async function askServer(address: OpenEnvAddress, timeoutMs: number): Promise<AskedServer> {
  const signal = AbortSignal.timeout(timeoutMs);
  const schemas = Schemas.safeParse(await ask(address, "/schema", signal));
  if (!schemas.success) throw protocolError(address, "no schema of actions at /schema");
  const metadata = Metadata.safeParse(await ask(address, "/metadata", signal).catch(absent));
  const tools = Tools.safeParse(await ask(address, "/mcp", signal, listTools).catch(absent));
  const { action } = schemas.data;
  const fields = Object.keys(isObject(action.properties) ? action.properties : {});
  const own = fields.filter((field) => !callFields.includes(field));
  const listed = tools.success ? tools.data.result.tools : [];
  // `Action` itself takes calls too
  const callsBySteps = fields.includes("tool_name") || own.length === 0;
  return {
    name: envName(metadata.data?.name ?? "openenv"),
    description: cutText((metadata.data?.description ?? "").replace(/\s+/g, " ").trim(), maxDescriptionChars),
    action,
    tools: listed
      // of our own servers: over HTTP these stand for reset and step
      .filter(({ name }) => !(fields.includes("message") && serveTools.includes(name)))
      .map(({ name, description, inputSchema, input_schema }) => {
        return { name, description: description ?? "", parameters: inputSchema ?? input_schema ?? { type: "object" } };
      }),
    callsBySteps,
    takesActions: own.length > 0 || listed.length === 0,
  };
}

const listTools = { jsonrpc: "2.0", id: 1, method: "tools/list", params: {} };
const serveTools = ["start_episode", "say", "finish"];
const absent = (error: unknown): undefined => {
  if (error instanceof LudusError && error.code === "open-env-protocol") return undefined;
  throw error;
};

async function ask(address: OpenEnvAddress, path: string, signal: AbortSignal, body?: object): Promise<unknown> {
  const headers = { ...address.headers, ...(body !== undefined && { "content-type": "application/json" }) };
  const method = body === undefined ? "GET" : "POST";
  // a redirect would take the headers elsewhere
  const sent = {
    method,
    headers,
    signal,
    redirect: "error" as const,
    ...defined({ body: body && JSON.stringify(body) }),
  };
  const response = await fetch(`${address.url}${path}`, sent).catch((cause: unknown) => {
    const why = cause instanceof Error && cause.cause !== undefined ? errorText(cause.cause) : errorText(cause);
    throw unreachable(address, why, cause);
  });
  if (!response.ok) {
    await response.body?.cancel();
    throw protocolError(address, `status ${response.status} of ${path}`);
  }
  const text = await readText(address, path, response);
  try {
    return parseBoundedJson(text);
  } catch (cause) {
    throw protocolError(address, `no JSON at ${path}`, cause);
  }
}

async function readText(address: OpenEnvAddress, path: string, response: Response): Promise<string> {
  const decoder = new TextDecoder();
  let text = "";
  for await (const chunk of response.body ?? []) {
    text += decoder.decode(chunk, { stream: true });
    if (text.length > bounds.openEnvAnswerChars) throw protocolError(address, `more than can be read at ${path}`);
  }
  return text + decoder.decode();
}

/** A name of `defineEnv`: a letter, then letters, digits, `_`, `-` or `.`. */
function envName(given: string): string {
  const name = given.replace(/[^\w.-]+/g, "-").replace(/^[^A-Za-z]+/, "");
  return name === "" ? "openenv" : name.slice(0, 64);
}
