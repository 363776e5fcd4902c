import { createServer, type IncomingMessage, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { mlflowMonitor } from "./mlflow-monitor.ts";
import { monitorContract } from "./monitor.contract.ts";

interface Call {
  readonly path: string;
  readonly body: Record<string, unknown>;
  readonly authorization?: string | undefined;
}

/** Answers as a tracking server does; `mlflow-monitor.parity.test.ts` talks to a real one. */
let server: Server;
let url: string;
let calls: Call[] = [];
let answer: (path: string) => [number, object] = ordinary;

function ordinary(path: string): [number, object] {
  if (path.startsWith("experiments/get-by-name"))
    return [404, { error_code: "RESOURCE_DOES_NOT_EXIST", message: "none" }];
  if (path === "experiments/create") return [200, { experiment_id: "7" }];
  if (path === "runs/create") return [200, { run: { info: { run_id: "r1" } } }];
  return [200, {}];
}

async function bodyOf(request: IncomingMessage): Promise<Record<string, unknown>> {
  let text = "";
  for await (const chunk of request) text += chunk;
  return text === "" ? {} : JSON.parse(text);
}

beforeAll(async () => {
  server = createServer(async (request, response) => {
    const path = request.url!.replace("/api/2.0/mlflow/", "");
    calls.push({ path, body: await bodyOf(request), authorization: request.headers.authorization });
    const [status, body] = answer(path);
    response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});
afterAll(() => new Promise((resolve) => server.close(resolve)));
beforeEach(() => {
  [calls, answer] = [[], ordinary];
});

const step = (index: number, metrics: Record<string, number>) => ({ type: "step-end", step: index, metrics }) as const;

test("a run is made, its metrics are sent in few requests, and it is ended", async () => {
  const monitor = mlflowMonitor({
    url,
    experiment: "letters",
    params: { steps: 3 },
    token: "secret",
    now: () => 1234.5,
  });
  monitor.record({ type: "run-start", name: "letters" });
  for (const index of [0, 1, 2]) monitor.record(step(index, { "rollout/reward": index, "odd näme": Number.NaN }));
  monitor.record({ type: "run-end", reason: "stopped" });
  await monitor.close?.();
  expect(calls.map(({ path }) => path)).toEqual([
    "experiments/get-by-name?experiment_name=letters",
    "experiments/create",
    "runs/create",
    "runs/log-batch",
    "runs/log-batch",
    "runs/update",
  ]);
  expect(calls.every(({ authorization }) => authorization === "Bearer secret")).toBe(true);
  expect(calls[2].body).toMatchObject({ experiment_id: "7", run_name: "letters", start_time: 1234 });
  expect(calls[3].body).toEqual({ run_id: "r1", params: [{ key: "steps", value: "3" }] });
  const metrics = calls[4].body.metrics as object[];
  expect(metrics).toHaveLength(6);
  expect(metrics[1]).toEqual({ key: "odd n_me", value: "NaN", timestamp: 1234, step: 0 });
  expect(calls[5].body).toEqual({ run_id: "r1", status: "KILLED", end_time: 1234 });
});

test("a thousand metrics are the most in one request", async () => {
  const monitor = mlflowMonitor({ url, experiment: "letters", runId: "r0" });
  monitor.record(step(0, Object.fromEntries(Array.from({ length: 2500 }, (_, i) => [`m${i}`, i]))));
  await monitor.close?.();
  expect(calls.map(({ body }) => (body.metrics as object[]).length)).toEqual([1000, 1000, 500]);
  expect(calls.every(({ body }) => body.run_id === "r0")).toBe(true);
});

describe("a server that fails is reported, once", () => {
  const reported = async (address: string, options = {}) => {
    const monitor = mlflowMonitor({ url: address, experiment: "x", ...options });
    monitor.record({ type: "run-start", name: "letters" });
    monitor.record(step(0, { a: 1 }));
    const closing = monitor.close!();
    await expect(closing).rejects.toThrow();
    await expect(monitor.close!()).resolves.toBeUndefined();
    return Promise.resolve(closing).catch((error: unknown) => (error as Error).message);
  };

  test("because nothing listens there", async () => {
    expect(await reported("http://127.0.0.1:9", { token: "secret" })).toMatch(
      /^mlflow-unreachable: got http:\/\/127\.0\.0\.1:9.*mlflow server/,
    );
  });

  test("because it refuses", async () => {
    answer = () => [500, { error_code: "INTERNAL_ERROR", message: "database is locked" }];
    expect(await reported(url)).toMatch(/^mlflow-refused: .*500 INTERNAL_ERROR database is locked/);
  });

  test("because it is something else", async () => {
    answer = () => [200, { hello: "world" }];
    expect(await reported(url)).toMatch(/^mlflow-unreachable: .*an answer that is not MLflow's/);
  });

  test("while the run goes on: the next event says so", async () => {
    answer = () => [500, {}];
    const monitor = mlflowMonitor({ url, experiment: "x" });
    monitor.record(step(0, { a: 1 }));
    await expect.poll(() => calls.length).toBeGreaterThan(0);
    await expect
      .poll(() => {
        try {
          monitor.record(step(1, { a: 1 }));
          return "taken";
        } catch (error) {
          return (error as Error).message;
        }
      })
      .toMatch(/^mlflow-refused/);
  });
});

test("an address that is none, and options that are misspelt, are refused", () => {
  expect(() => mlflowMonitor({ url: "mlruns", experiment: "x" })).toThrow(
    /^bad-config: got url "mlruns".*mlflow server/,
  );
  expect(() => mlflowMonitor({ url, experimant: "x" } as never)).toThrow(/did you mean "experiment"/);
});

monitorContract("mlflowMonitor", () => mlflowMonitor({ url, experiment: "contract" }));
