import { type ChildProcess, execFile, spawn } from "node:child_process";
import { existsSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout } from "node:timers/promises";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { RunEvent } from "../schema/run-event.ts";
import { mlflowMonitor } from "./mlflow-monitor.ts";
import { wandbMonitor } from "./wandb-monitor.ts";

// scripts/setup-trackers.sh makes it
const bin = process.env.LUDUS_TRACKERS ?? ".venv-trackers/bin";
const isThere = existsSync(join(bin, "mlflow")) && existsSync(join(bin, "wandb"));
if (!isThere)
  console.log(
    `W&B and MLflow are not compared: none in ${bin}. scripts/setup-trackers.sh installs them; LUDUS_TRACKERS names another folder.`,
  );

const run = promisify(execFile);
const folder = mkdtempSync(join(tmpdir(), "ludus-trackers-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const events: readonly RunEvent[] = [
  { type: "run-start", name: "letters" },
  ...Array.from(
    { length: 300 },
    (_, step): RunEvent => ({
      type: "step-end",
      step,
      metrics: { "rollout/reward": step / 300, "update/loss": step === 7 ? Number.NaN : -step, ["long".repeat(40)]: 1 },
    }),
  ),
  { type: "eval-end", step: 299, metrics: { "eval/success": 0.75 } },
  { type: "run-end", reason: "finished" },
];

describe.skipIf(!isThere)("W&B", () => {
  test("reads every record of an offline run", async () => {
    const monitor = wandbMonitor({
      directory: folder,
      project: "ludus",
      id: "parity01",
      config: { steps: 300, env: "letters" },
    });
    for (const event of events) monitor.record(event);
    await monitor.close?.();
    const [name] = readdirSync(join(folder, "wandb"));
    const file = join(folder, "wandb", name, "run-parity01.wandb");
    const environment = { ...process.env, WANDB_MODE: "offline" };
    const inspect = async (...args: string[]) =>
      (
        await run(join(bin, "wandb"), ["leet", "inspect", ...args, "--json", file], {
          env: environment,
          maxBuffer: 1 << 26,
        })
      ).stdout;
    const summary = JSON.parse(await inspect("--summary"));
    expect(JSON.stringify(summary)).toContain("parity01");
    expect(JSON.stringify(summary)).toContain('"eval/success"');
    const records = (await inspect())
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line));
    expect(records.filter(({ type }) => type === "history")).toHaveLength(300);
    const protobuf = await run(join(bin, "python"), ["-c", readWithProtobuf, file], { maxBuffer: 1 << 26 });
    expect(JSON.parse(protobuf.stdout)).toEqual({
      run: { id: "parity01", project: "ludus", name: "letters", config: { steps: 300, env: "letters" } },
      steps: Array.from({ length: 300 }, (_, step) => step),
      last: { "rollout/reward": 299 / 300, "update/loss": -299, "eval/success": 0.75 },
      nan: "nan",
      exit: 0,
    });
    const dry = await run(join(bin, "wandb"), ["sync", "--dry-run", join(folder, "wandb", name)], {
      env: environment,
      cwd: folder,
    });
    expect(`${dry.stdout}${dry.stderr}`).toContain("parity01");
  }, 120_000);
});

/** Joins the pieces of the log, and reads each record with W&B's own protobuf classes. */
const readWithProtobuf = `
import json, struct, sys
from wandb.proto import wandb_internal_pb2 as pb
data, at, parts, records = open(sys.argv[1], "rb").read(), 7, b"", []
while at < len(data):
    left = 32768 - at % 32768
    if left < 7:
        at += left
        continue
    _, length, kind = struct.unpack("<IHB", data[at:at + 7])
    parts += data[at + 7:at + 7 + length]
    at += 7 + length
    if kind in (1, 4):
        record = pb.Record()
        record.ParseFromString(parts)
        records.append(record)
        parts = b""
history = [r.history for r in records if r.WhichOneof("record_type") == "history"]
rows = [{i.nested_key[0]: json.loads(i.value_json) for i in h.item} for h in history]
run = next(r.run for r in records if r.WhichOneof("record_type") == "run")
names = ["rollout/reward", "update/loss", "eval/success"]
print(json.dumps({
    "run": {"id": run.run_id, "project": run.project, "name": run.display_name,
            "config": {i.key: json.loads(i.value_json) for i in run.config.update}},
    "steps": [h.step.num for h in history],
    "last": {name: rows[-1][name] for name in names},
    "nan": str(rows[7]["update/loss"]),
    "exit": next(r.exit.exit_code for r in records if r.WhichOneof("record_type") == "exit"),
}))
`;

describe.skipIf(!isThere)("MLflow", () => {
  let server: ChildProcess;
  let url: string;
  beforeAll(async () => {
    const port = await freePort();
    url = `http://127.0.0.1:${port}`;
    const store = `sqlite:///${join(folder, "mlflow.db")}`;
    const args = [
      "server",
      "--backend-store-uri",
      store,
      "--host",
      "127.0.0.1",
      "--port",
      String(port),
      "--workers",
      "1",
    ];
    server = spawn(join(bin, "mlflow"), args, {
      cwd: folder,
      stdio: "ignore",
      detached: true,
      env: { ...process.env, PATH: `${bin}:${process.env.PATH}` },
    });
    for (let tries = 0; tries < 600; tries++) {
      const health = await fetch(`${url}/health`).catch(() => undefined);
      if (health?.ok) return;
      await setTimeout(200);
    }
    throw new Error("the MLflow server did not start");
  }, 150_000);
  // its workers are in its group
  afterAll(() => void (server.pid !== undefined && process.kill(-server.pid, "SIGTERM")));

  test("has every metric of a run, by its own client", async () => {
    const monitor = mlflowMonitor({ url, experiment: "parity", params: { steps: 300 }, tags: { team: "a" } });
    for (const event of events) monitor.record(event);
    await monitor.close?.();
    const { stdout } = await run(join(bin, "python"), ["-c", readWithClient, url], { maxBuffer: 1 << 26 });
    expect(JSON.parse(stdout)).toEqual({
      name: "letters",
      status: "FINISHED",
      params: { steps: "300" },
      team: "a",
      steps: Array.from({ length: 300 }, (_, step) => step),
      reward: 299 / 300,
      success: 0.75,
      nan: "nan",
    });
  }, 120_000);
});

const readWithClient = `
import json, sys
from mlflow import MlflowClient
client = MlflowClient(sys.argv[1])
experiment = client.get_experiment_by_name("parity")
run = client.search_runs([experiment.experiment_id])[0]
history = sorted(client.get_metric_history(run.info.run_id, "rollout/reward"), key=lambda m: m.step)
loss = {m.step: m.value for m in client.get_metric_history(run.info.run_id, "update/loss")}
print(json.dumps({
    "name": run.info.run_name, "status": run.info.status, "params": run.data.params, "team": run.data.tags["team"],
    "steps": [m.step for m in history], "reward": run.data.metrics["rollout/reward"],
    "success": run.data.metrics["eval/success"], "nan": str(loss[7]),
}))
`;

function freePort(): Promise<number> {
  return new Promise((resolve) => {
    const probe = createServer().listen(0, "127.0.0.1", () => {
      const address = probe.address();
      probe.close(() => resolve(typeof address === "object" && address !== null ? address.port : 0));
    });
  });
}
