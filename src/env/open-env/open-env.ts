import { bounds } from "../../bounds.ts";
import { defined } from "../../defined.ts";
import { LudusError } from "../../errors.ts";
import { type KnownOptions, refuseUnknownOptions } from "../../known-options.ts";
import type { Limits } from "../../rollout/limits.ts";
import { generated } from "../../task/generated.ts";
import type { TaskSource } from "../../task/task-source.ts";
import { checkParameters } from "../../tool/parameters-of.ts";
import { type Tool, type ToolContext, ToolError } from "../../tool/tool.ts";
import { defineEnv } from "../define-env.ts";
import type { Acted, Env } from "../env.ts";
import { type OpenEnvAddress, OpenEnvConnection, type OpenEnvResult, RefusedAction } from "./open-env-connection.ts";
import { type AskedServer, askServer, type ServerTool } from "./open-env-server.ts";
import {
  actionReader,
  isObject,
  type JsonObject,
  observationText,
  type ReadAction,
  toolText,
} from "./open-env-texts.ts";

/** What `reset` is given: a seed, and whatever else the environment knows. */
export type OpenEnvTask = Readonly<Record<string, unknown>>;

export interface OpenEnvOptions {
  /** The address of the server, such as "http://127.0.0.1:8000". */
  url: string;
  /** What the server calls the environment by default. */
  name?: string;
  /** Arguments of `reset`; seeds without end by default, for servers whose `reset` takes one. */
  tasks?: TaskSource<OpenEnvTask>;
  /** Told once, before everything. */
  system?: string;
  /** How an answer becomes an action; by the server's schema of actions by default. */
  action?: (answer: string) => JsonObject;
  /** What the policy reads of an observation; its `text`, its one field, or a line for each field by default. */
  observe?: (observation: JsonObject) => string;
  limits?: Partial<Limits>;
  /** Sent with every request, such as a token. */
  headers?: Readonly<Record<string, string>>;
  /** Milliseconds for what is asked before the first episode; 10,000 by default. */
  connectMs?: number;
}

const knownOpenEnvOptions: KnownOptions<OpenEnvOptions> = {
  url: true,
  name: true,
  tasks: true,
  system: true,
  action: true,
  observe: true,
  limits: true,
  headers: true,
  connectMs: true,
};

/** An episode at the server. */
export interface OpenEnvState {
  /** What the server says of the episode's state. */
  serverState(signal: AbortSignal): Promise<JsonObject>;
}

class RemoteEpisode implements OpenEnvState {
  readonly connection: OpenEnvConnection;
  isOver = false;

  constructor(connection: OpenEnvConnection) {
    this.connection = connection;
  }

  serverState(signal: AbortSignal): Promise<JsonObject> {
    return this.connection.state(signal);
  }

  async step(action: JsonObject, signal: AbortSignal): Promise<OpenEnvResult> {
    const result = await this.connection.observe("step", action, signal);
    this.isOver = result.done;
    return result;
  }
}

/**
 * The environment of an OpenEnv server. Rewards are those of its steps; the task counts as solved when they add up to 1 or more. Tools that
 * the server lists are tools here. What goes wrong at the server is no fault of the policy: the episode ends with `env-crash`.
 *
 *     const env = await openEnv({ url: "http://127.0.0.1:8000" });
 *     await train({ env, … });
 */
export async function openEnv(options: OpenEnvOptions): Promise<Env<OpenEnvTask, OpenEnvState>> {
  refuseUnknownOptions("openEnv", options, knownOpenEnvOptions);
  const address = addressOf(options);
  const server = await askServer(address, options.connectMs ?? 10_000);
  const reader = options.action === undefined ? actionReader(server.action) : { read: ownReader(options.action) };
  const observe = options.observe ?? observationText;
  const name = options.name ?? server.name;
  const hasTools = server.tools.length > 0;
  const system = options.system ?? ("instructions" in reader && !hasTools ? reader.instructions : undefined);

  return defineEnv<OpenEnvTask, RemoteEpisode>({
    name,
    description: server.description,
    tasks: options.tasks ?? seeds(name),
    async start({ task, signal }) {
      const connection = await OpenEnvConnection.open(address, signal);
      const state = new RemoteEpisode(connection);
      try {
        const { observation, done } = await connection.observe("reset", task, signal);
        state.isOver = done;
        return { state, say: observe(observation) };
      } catch (error) {
        connection.close();
        throw error;
      }
    },
    ...(hasTools && { tools: toolsOf(server, observe) }),
    ...(server.takesActions && {
      act: ({ state, answer, signal }) => act(state, reader.read(answer), observe, signal),
    }),
    close: ({ connection }) => connection.close(),
    ...defined({ system, limits: options.limits }),
  });
}

function addressOf({ url, headers = {} }: OpenEnvOptions): OpenEnvAddress {
  if (URL.canParse(url) && /^https?:$/.test(new URL(url).protocol)) return { url: url.replace(/\/+$/, ""), headers };
  throw new LudusError("bad-option", {
    got: `url: ${JSON.stringify(url)}`,
    expected: "an address that begins with http",
  });
}

function seeds(name: string): TaskSource<OpenEnvTask> {
  return generated<OpenEnvTask>((rng) => ({ seed: rng.integer(2 ** 31) }), { name });
}

function ownReader(action: (answer: string) => JsonObject): (answer: string) => ReadAction {
  return (answer) => {
    const made = action(answer);
    return isObject(made) ? { action: made } : { problem: "expected an action" };
  };
}

async function act(
  state: RemoteEpisode,
  read: ReadAction,
  observe: (observation: JsonObject) => string,
  signal: AbortSignal,
): Promise<Acted> {
  if (state.isOver) return { done: true };
  if ("problem" in read) return { say: `Error: ${read.problem}` };
  try {
    const { observation, reward, done } = await state.step(read.action, signal);
    return { say: observe(observation), reward: reward ?? 0, done };
  } catch (error) {
    if (error instanceof RefusedAction) return { say: `Error: the action was refused: ${error.message}` };
    throw error;
  }
}

function toolsOf(server: AskedServer, observe: (observation: JsonObject) => string) {
  const tools = server.tools.slice(0, bounds.mcpTools).map((tool): [string, Tool<RemoteEpisode>] => {
    const run = (input: unknown, context: ToolContext<RemoteEpisode>) => {
      const args = isObject(input) ? input : {};
      return server.callsBySteps ? callByStep(tool, args, context, observe) : callByMcp(tool, args, context);
    };
    return [
      tool.name,
      {
        spec: { description: tool.description, parameters: checkParameters({ ...tool.parameters }) },
        check: (input) =>
          isObject(input) ? { ok: true, value: input } : { ok: false, problem: "expected an object of arguments" },
        run,
      },
    ];
  });
  return Object.fromEntries(tools);
}

/** A call as a step: it is rewarded, and may end the episode. */
async function callByStep(
  { name }: ServerTool,
  args: JsonObject,
  { state, signal, reward, finish }: ToolContext<RemoteEpisode>,
  observe: (observation: JsonObject) => string,
): Promise<string> {
  const action = { type: "call_tool", tool_name: name, arguments: args };
  const result = await state.step(action, signal).catch((error: unknown) => {
    if (error instanceof RefusedAction) throw new ToolError(error.message);
    throw error;
  });
  if (result.reward) reward(result.reward);
  if (result.done) finish();
  const { error, result: told } = result.observation;
  if (isObject(error)) throw new ToolError(String(error.message ?? "the tool failed and did not say why"));
  return told === undefined ? observe(result.observation) : toolText(told);
}

/** A call beside the steps, of servers whose steps are something else. */
async function callByMcp(
  { name }: ServerTool,
  args: JsonObject,
  { state, signal }: ToolContext<RemoteEpisode>,
): Promise<string> {
  const request = { jsonrpc: "2.0", id: 1, method: "tools/call", params: { name, arguments: args } };
  const { result, error } = await state.connection.mcp(request, signal);
  if (isObject(error)) throw new ToolError(String(error.message ?? "the tool failed and did not say why"));
  if (isObject(result) && (result.is_error === true || result.isError === true)) throw new ToolError(toolText(result));
  return toolText(result);
}
