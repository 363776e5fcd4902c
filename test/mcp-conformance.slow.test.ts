import { execFile } from "node:child_process";
import { globSync, readFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { keyDoor } from "../src/env/environments/key-door.ts";
import type { ServedEnv } from "../src/env/serve/served-env.ts";
import { serveEnv } from "../src/env/serve-env.ts";

// The official conformance suite of MCP, scenario by scenario, against `serveEnv` and `mcpTools`. Left out are scenarios that
// call tools, resources and prompts made for the suite, which an environment does not have, and those of OAuth: `mcpTools` sends
// the headers it is given.

const suite = join(process.cwd(), "node_modules/@modelcontextprotocol/conformance/dist/index.js");
let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "ludus-conformance-"));
});
afterAll(() => rm(folder, { recursive: true }));

interface Check {
  readonly id: string;
  readonly status: string;
  readonly errorMessage?: string;
}

/** What the suite found wrong, and how much it looked at. */
async function judge(scenario: string, version: string, args: readonly string[]) {
  const out = await mkdtemp(join(folder, "run-"));
  const all = [suite, ...args, "--scenario", scenario, "--spec-version", version, "-o", out];
  // it exits with 1 where a check failed
  await promisify(execFile)(process.execPath, all).catch(() => {});
  const files = globSync("*/checks.json", { cwd: out });
  const checks = files.flatMap((file) => JSON.parse(readFileSync(join(out, file), "utf8")) as Check[]);
  const failed = checks.filter(({ status }) => status === "FAILURE" || status === "WARNING");
  return {
    passed: checks.filter(({ status }) => status === "SUCCESS").length,
    failed: failed.map(({ id }) => id),
    why: failed.map(({ id, errorMessage }) => `${id}: ${errorMessage}`),
  };
}

type Scenario = readonly [version: string, name: string, expectedFailures: readonly string[]];
const none: readonly string[] = [];

const [older, newer] = ["2025-11-25", "2026-07-28"];

const ofServers: readonly Scenario[] = [
  [older, "server-initialize", none],
  [older, "server-session-lifecycle", none],
  [older, "ping", none],
  [older, "tools-list", none],
  [older, "server-sse-multiple-streams", none],
  [older, "dns-rebinding-protection", none],
  // the two need a tool of the suite's that asks for a sample
  [
    newer,
    "server-stateless",
    ["sep-2575-server-rejects-undeclared-capability", "sep-2575-missing-capability-http-400"],
  ],
  [newer, "tools-list", none],
  [newer, "server-sse-multiple-streams", none],
  [newer, "dns-rebinding-protection", none],
  [newer, "http-header-validation", none],
  [newer, "input-required-result-unsupported-methods", none],
  // an environment has no prompts and no resources
  [
    newer,
    "caching",
    [
      "sep-2549-prompts-list-caching-hints",
      "sep-2549-resources-list-caching-hints",
      "sep-2549-resources-templates-list-caching-hints",
    ],
  ],
];

describe("serveEnv", () => {
  let served: ServedEnv;
  beforeAll(async () => {
    served = await serveEnv(keyDoor(), { port: 0 });
  });
  afterAll(() => served.close());

  test.each(ofServers)("%s %s", { timeout: 60_000 }, async (version, name, expected) => {
    const { passed, failed, why } = await judge(name, version, ["server", "--url", served.url!]);
    expect(failed, why.join("\n")).toEqual(expected);
    expect(passed).toBeGreaterThan(0);
  });
});

// models are told of arguments, not of the dialect they are described in
const dialect = ["json-schema-2020-12-client-$schema-preserved"];

const ofClients: readonly Scenario[] = [
  [older, "initialize", none],
  [older, "tools_call", none],
  [older, "elicitation-sep1034-client-defaults", none],
  [older, "sse-retry", none],
  [older, "json-schema-2020-12-preservation", dialect],
  [newer, "tools_call", none],
  [newer, "request-metadata", none],
  [newer, "sep-2322-client-request-state", none],
  [newer, "http-standard-headers", none],
  [newer, "http-custom-headers", none],
  [newer, "http-invalid-tool-headers", none],
  [newer, "json-schema-ref-no-deref", none],
  [newer, "json-schema-2020-12-preservation", dialect],
];

describe("mcpTools", () => {
  const client = `${process.execPath} ${join(process.cwd(), "src/tool/fixtures/conformance-client.ts")}`;

  test.each(ofClients)("%s %s", { timeout: 60_000 }, async (version, name, expected) => {
    const { passed, failed, why } = await judge(name, version, ["client", "--command", client]);
    expect(failed, why.join("\n")).toEqual(expected);
    expect(passed).toBeGreaterThan(0);
  });
});
