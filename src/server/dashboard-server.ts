import { randomBytes } from "node:crypto";
import { fileURLToPath } from "node:url";
import { Hono } from "hono";
import { wallClock } from "../clock.ts";
import { LudusError } from "../errors.ts";
import { isLoopback } from "../http-origin.ts";
import { type KnownOptions, refuseUnknownOptions } from "../known-options.ts";
import { addressedRuns, type RunCatalog } from "../store/index.ts";
import { onlyLoopbackNames, onlyOwnPages, requireToken, strictHeaders, takeToken } from "./dashboard/access.ts";
import { CheckpointPolicies, type LoadEngine, loadEmbedded } from "./dashboard/checkpoint-policies.ts";
import { type Diagnose, Findings, lookBriefly } from "./dashboard/findings.ts";
import { liveRoutes } from "./dashboard/live-routes.ts";
import { OpenRuns } from "./dashboard/open-runs.ts";
import { type Environments, PlayRoom } from "./dashboard/play-routes.ts";
import { statusOf } from "./dashboard/request.ts";
import { type LoadEnv, RunEnvironments } from "./dashboard/run-environments.ts";
import { runRoutes } from "./dashboard/run-routes.ts";
import { RunSummaries } from "./dashboard/run-summaries.ts";
import { staticFiles } from "./dashboard/static-files.ts";
import { trajectoryRoutes } from "./dashboard/trajectory-routes.ts";
import { listen } from "./listen.ts";

export interface DashboardOptions {
  /** A folder of runs, or one run's own; or any catalog. */
  runs: string | RunCatalog;
  /** Loopback by default. With any other, everyone who has the token and reaches this machine can look. */
  host: string;
  /** 0 takes any that is free. */
  port: number;
  /** Made anew at each start by default. */
  token: string;
  /** What can be played by hand. */
  environments: Environments;
  /** Loads the environment of the file that a run was made from, to play it. Without it only `environments` are played. */
  loadEnv: LoadEnv;
  /** The doctor that is asked about a run besides what the run said itself. */
  diagnose: Diagnose;
  loadEngine: LoadEngine;
  /** The built page. */
  assets: string;
  /** How often a watched run is looked at. */
  liveMs: number;
  /** Milliseconds since 1970. */
  now: () => number;
}

const knownDashboardOptions: KnownOptions<DashboardOptions> = {
  runs: true,
  host: true,
  port: true,
  token: true,
  environments: true,
  loadEnv: true,
  diagnose: true,
  loadEngine: true,
  assets: true,
  liveMs: true,
  now: true,
};

export interface Dashboard {
  /** With the token: whoever has it can look. */
  readonly url: string;
  readonly port: number;
  readonly token: string;
  close(): Promise<void>;
}

const clock = () => performance.now();

/** Serves the dashboard over runs, live while they are written. It only reads. */
export async function serveDashboard(
  options: Pick<DashboardOptions, "runs"> & Partial<DashboardOptions>,
): Promise<Dashboard> {
  refuseUnknownOptions("serveDashboard", options, knownDashboardOptions);
  const catalog = typeof options.runs === "string" ? addressedRuns(options.runs) : options.runs;
  // a folder that is not there, or a database that cannot be reached, is an error before the page is
  await catalog.count();
  const { host = "127.0.0.1", port = 0, token = randomBytes(18).toString("base64url") } = options;
  const parts = openParts(catalog, options);
  const server = await listen(makeApp(parts, { ...options, host, token }), host, port);
  return {
    url: `${server.url}/?token=${encodeURIComponent(token)}`,
    port: server.port,
    token,
    async close() {
      await server.close();
      await parts.room.close();
      await parts.policies.close();
      await parts.runs.close();
    },
  };
}

type Parts = ReturnType<typeof openParts>;

function openParts(catalog: RunCatalog, options: Partial<DashboardOptions>) {
  const { environments = {}, loadEnv, diagnose = lookBriefly, loadEngine = loadEmbedded, now = wallClock } = options;
  const runs = new OpenRuns(catalog);
  const policies = new CheckpointPolicies(loadEngine);
  return {
    runs,
    policies,
    summaries: new RunSummaries(runs, now),
    findings: new Findings(runs, diagnose, clock),
    room: new PlayRoom(environments, runs, policies, new RunEnvironments(runs, loadEnv)),
  };
}

type AppOptions = Partial<DashboardOptions> & Pick<DashboardOptions, "host" | "token">;

function makeApp(parts: Parts, { host, token, assets = builtPage, liveMs = 1000 }: AppOptions): Hono {
  const app = new Hono();
  // browsers keep cookies by host alone; its own name keeps two dashboards on one machine apart
  const cookie = `ludus-${token.slice(0, 6).replace(/\W/g, "")}`;
  app.use(strictHeaders);
  if (isLoopback(host)) app.use(onlyLoopbackNames());
  app.use("/api/*", onlyOwnPages(), requireToken(token, cookie), async (context, next) => {
    await next();
    context.res.headers.set("cache-control", "no-store");
  });
  app.route("/api", runRoutes(parts));
  app.route("/api", trajectoryRoutes(parts.runs, parts.policies));
  app.route("/api", liveRoutes(parts.runs, liveMs));
  app.route("/api", parts.room.routes);
  app.all("/api/*", (context) => {
    return context.json({ error: { code: "no-such-path", message: `Nothing is at ${context.req.path}.` } }, 404);
  });
  app.get("*", takeToken(token, cookie), staticFiles(assets));
  app.onError((error, context) => {
    const isExpected = error instanceof LudusError;
    const code = isExpected ? error.code : "bug";
    return context.json({ error: { code, message: error.message } }, isExpected ? statusOf(error) : 500);
  });
  return app;
}

// the same number of folders up from src/server and from dist/server
const builtPage = fileURLToPath(new URL("../../dist/dashboard/", import.meta.url));
