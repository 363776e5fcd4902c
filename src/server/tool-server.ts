import { createHash, timingSafeEqual } from "node:crypto";
import { Hono } from "hono";
import { wallClock } from "../clock.ts";
import { LudusError } from "../errors.ts";
import { type KnownOptions, refuseUnknownOptions } from "../known-options.ts";
import { createLimiter } from "../limiter.ts";
import type { Sandbox } from "../tool/sandbox/sandbox.ts";
import { httpError } from "./model/http-error.ts";
import { readJson } from "./read-json.ts";
import { serveApp } from "./serve-app.ts";
import type { ActionTool } from "./tools/action-tool.ts";
import { readObservationRequest } from "./tools/observation-request.ts";
import { Trajectories } from "./tools/trajectories.ts";

export interface ToolServerOptions {
  tools: readonly ActionTool[];
  host?: string;
  /** 0 takes any that is free. */
  port?: number;
  /** Needed where others than this machine can reach it; clients put it in front of the path: `/<key>/get_observation`. */
  apiKey?: string;
  /** Where code runs; `bubblewrapSandbox()` by default, and nothing weaker where it cannot be had. */
  sandbox?: Sandbox;
  /** Calls that run at once; 64 by default. The rest waits. */
  concurrency?: number;
  /** Longer observations lose their middle; 65536 by default. */
  observationChars?: number;
  /** Whether a text without a call ends its trajectory; false by default. */
  doneIfInvalid?: boolean;
  /** Trajectories whose state is kept; 4096 by default. */
  maxTrajectories?: number;
  /** How long the state of a trajectory is kept that nobody asks for; 30 minutes by default. */
  idleMs?: number;
  /** Milliseconds since 1970. */
  now?: () => number;
}

const known: KnownOptions<ToolServerOptions> = {
  tools: true,
  host: true,
  port: true,
  apiKey: true,
  sandbox: true,
  concurrency: true,
  observationChars: true,
  doneIfInvalid: true,
  maxTrajectories: true,
  idleMs: true,
  now: true,
};

export interface ToolServer {
  /** What a trainer takes as its `tool_server_url`. It holds the key, where there is one. */
  readonly url: string;
  readonly port: number;
  /** Ends running calls and removes all state. */
  close(): Promise<void>;
}

/**
 * Serves tools with Verl-Tool's protocol, so that trainers elsewhere can use the boxes and tools of this machine:
 *
 *     const server = await serveTools({ tools: [pythonAction({ timeoutMs: 10_000 })] });
 *     // POST server.url {"trajectory_ids": ["a"], "actions": ["<python>print(1)</python>"], "finish": [false]}
 *     //   → {"observations": ["1"], "dones": [false], "valids": [true]}
 */
export async function serveTools(options: ToolServerOptions): Promise<ToolServer> {
  refuseUnknownOptions("serveTools", options, known);
  const { tools, host = "127.0.0.1", port = 0, apiKey, concurrency = 64, idleMs = 30 * 60_000 } = options;
  if (tools.length === 0) throw new LudusError("bad-option", { got: "no tools", expected: "one or more" });
  const trajectories = new Trajectories({
    tools,
    sandbox: options.sandbox,
    limit: createLimiter(concurrency),
    observationChars: options.observationChars ?? 65_536,
    doneIfInvalid: options.doneIfInvalid ?? false,
    most: options.maxTrajectories ?? 4096,
    idleMs,
    now: options.now ?? wallClock,
  });
  const sweeping = setInterval(() => void trajectories.sweep(), Math.max(1_000, idleMs / 4)).unref();
  const app = toolApp(trajectories, tools, apiKey);
  const listening = await serveApp(app, { host, port, apiKey });
  const base = apiKey === undefined ? listening.url : `${listening.url}/${encodeURIComponent(apiKey)}`;
  return {
    url: `${base}/get_observation`,
    port: listening.port,
    async close() {
      clearInterval(sweeping);
      await listening.close();
      await trajectories.close();
    },
  };
}

function toolApp(trajectories: Trajectories, tools: readonly ActionTool[], apiKey: string | undefined): Hono {
  const app = new Hono();
  app.post(apiKey === undefined ? "/get_observation" : "/:key/get_observation", async (context) => {
    const key = context.req.param("key" as never) as string | undefined;
    if (apiKey !== undefined && !isSame(key ?? "", apiKey)) {
      throw new LudusError("wrong-key", { got: "another key in the address", expected: "that of the server" });
    }
    const asked = readObservationRequest(await readJson(context));
    const isFinish = ({ extra }: (typeof asked)[number]) => extra.finish === true;
    await trajectories.makeRoom(asked.filter((each) => !isFinish(each)).map(({ id }) => id));
    const observed = await Promise.all(asked.map(({ id, action, extra }) => trajectories.act(id, action, extra)));
    return context.json({
      observations: observed.map(({ observation }) => observation),
      dones: observed.map(({ done }) => done),
      valids: observed.map(({ valid }) => valid),
    });
  });
  app.get("/health", (context) =>
    // what it has is for those with the key
    context.json(
      apiKey === undefined
        ? { status: "healthy", trajectories: trajectories.count, tools: tools.map(({ name }) => name) }
        : { status: "healthy" },
    ),
  );
  app.onError((error, context) => {
    const { status, message } = httpError(error);
    return context.json({ detail: message }, status);
  });
  return app;
}

function isSame(one: string, other: string): boolean {
  const [a, b] = [one, other].map((text) => createHash("sha256").update(text).digest());
  return timingSafeEqual(a, b);
}
