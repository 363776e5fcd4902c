import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { Engine } from "../engine.ts";
import { tiny } from "../model/model-config.ts";
import { findPython } from "./find-python.ts";
import { torch } from "./torch.ts";
import { vllm } from "./vllm.ts";

const model = tiny({ vocabularySize: 24, width: 32, headWidth: 8, layers: 2, contextLength: 64 });
const rows = [{ tokens: [1, 2, 3, 4] }];
const uphill = { logprobs_B_T: [Float32Array.of(0, -1, -1, -1)] };

describe.runIf(process.env.LUDUS_PYTHON)("faults of the PyTorch engine", () => {
  let folder: string;
  let engines: Engine[];
  let log: string[];
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), "ludus-faults-"));
    engines = [];
    log = [];
  });
  afterEach(async () => {
    await Promise.all(engines.map((engine) => engine.close()));
    rmSync(folder, { recursive: true });
  });

  async function open(options: Partial<Parameters<typeof torch>[0]> = {}): Promise<Engine> {
    const engine = await torch({ model, device: "cpu", threads: 1, log: (line) => log.push(line), ...options });
    engines.push(engine);
    return engine;
  }

  const pidOf = () => Number(/process (\d+) listens/.exec(log.join("\n"))![1]);

  async function train(engine: Engine): Promise<void> {
    await engine.backward(await engine.forward({ rows }), uphill);
    await engine.step({ learningRate: 1e-3 });
  }

  /** A worker started by hand, as on another machine. */
  async function startWorker(env: Record<string, string>, ...args: string[]) {
    const { python, env: found } = findPython(undefined, false);
    const child = spawn(python, ["-m", "ludus_worker", "--parent", ...args], {
      env: { ...process.env, ...found, ...env },
      stdio: ["pipe", "pipe", "pipe"],
    });
    const [line] = (await once(createInterface(child.stdout), "line")) as [string];
    return { child, address: `127.0.0.1:${JSON.parse(line)["ludus-worker"].port}` };
  }

  test("a worker that is killed ends every call that waits, and the last checkpoint goes on", async () => {
    const engine = await open();
    await train(engine);
    const saved = join(folder, "saved");
    await engine.save(saved);
    await train(engine);
    const forward = await engine.forward({ rows });
    // stopped first, so that every call is under way when it dies
    process.kill(pidOf(), "SIGSTOP");
    const calls = {
      sample: engine.sample({ tokens: [1], maxTokens: 60, seed: 1 }),
      forward: engine.forward({ rows }),
      backward: engine.backward(forward, uphill),
      step: engine.step({ learningRate: 1 }),
      save: engine.save(saved),
      load: engine.load(saved),
    };
    const outcomes = Promise.allSettled(Object.values(calls));
    await new Promise((resolve) => setTimeout(resolve, 100));
    process.kill(pidOf(), "SIGKILL");
    for (const [i, outcome] of (await outcomes).entries()) {
      expect(outcome).toMatchObject({ status: "rejected", reason: { code: "worker-died" } });
      expect((outcome as PromiseRejectedResult).reason.message).toContain(`${Object.keys(calls)[i]}()`);
    }
    await expect(engine.sample({ tokens: [1], maxTokens: 1, seed: 1 })).rejects.toMatchObject({ code: "worker-died" });
    const again = await open({ folder: saved });
    expect(again.info.policyVersion).toBe(1);
    await train(again);
    expect(again.info.policyVersion).toBe(2);
  });

  test("a worker killed while it writes leaves the checkpoint as it was, or the new one whole", async () => {
    const engine = await open();
    const saved = join(folder, "saved");
    await engine.save(saved);
    await train(engine);
    const saving = engine.save(saved);
    const outcome = Promise.allSettled([saving]);
    await new Promise((resolve) => setTimeout(resolve, 8));
    process.kill(pidOf(), "SIGKILL");
    await outcome;
    log = [];
    const again = await open({ folder: saved });
    expect([0, 1]).toContain(again.info.policyVersion);
  });

  test("calls after close say so, and close is quick", async () => {
    const engine = await open();
    const pid = pidOf();
    const pending = engine.sample({ tokens: [1], maxTokens: 60, seed: 1 });
    const outcome = Promise.allSettled([pending]);
    await engine.close();
    expect((await outcome)[0]).toMatchObject({ reason: { code: "engine-closed" } });
    await expect(engine.forward({ rows })).rejects.toMatchObject({ code: "engine-closed" });
    expect(() => process.kill(pid, 0)).toThrow("ESRCH");
  });

  test("a worker does not outlive the program that started it", async () => {
    const program = join(folder, "program.ts");
    writeFileSync(
      program,
      `import { torch } from ${JSON.stringify(join(import.meta.dirname, "torch.ts"))};
       await torch({ model: ${JSON.stringify(model)}, device: "cpu", log: (line) => console.log(line) });
       console.log("open");`,
    );
    const parent = spawn(process.execPath, [program], { stdio: ["ignore", "pipe", "inherit"] });
    let text = "";
    for await (const line of createInterface(parent.stdout)) {
      text += `${line}\n`;
      if (line === "open") break;
    }
    const pid = Number(/process (\d+) listens/.exec(text)![1]);
    parent.kill("SIGKILL");
    await expect.poll(() => existsSync(`/proc/${pid}/cmdline`) && isRunning(pid), { timeout: 10_000 }).toBe(false);
  });

  test("a running worker is served by token, one engine at a time, and its end is noticed", async () => {
    const { child, address } = await startWorker({ LUDUS_WORKER_TOKEN: "secret" });
    await expect(open({ connect: address, token: "guess" })).rejects.toMatchObject({ code: "wrong-token" });
    await expect(open({ connect: address })).rejects.toMatchObject({ code: "wrong-token" });
    const first = await open({ connect: address, token: "secret" });
    expect((await first.sample({ tokens: [1], maxTokens: 2, seed: 1 })).tokens.length).toBe(2);
    const second = await open({ connect: address, token: "secret" });
    await expect(first.forward({ rows })).rejects.toMatchObject({ code: "session-replaced" });
    const pending = second.sample({ tokens: [1], maxTokens: 60, seed: 1 });
    child.kill("SIGKILL");
    await expect(pending).rejects.toMatchObject({ code: "connection-lost" });
  });

  test("TLS to a running worker; beyond loopback it insists on token and TLS", async () => {
    const file = (name: string) => join(import.meta.dirname, "fixtures", name);
    const [certificate, key] = [file("test-only-certificate.pem"), file("test-only-key.pem")];
    const env = { LUDUS_WORKER_TOKEN: "secret" };
    const { child, address } = await startWorker(env, "--tls-certificate", certificate, "--tls-key", key);
    const engine = await open({ connect: address, token: "secret", tls: { ca: certificate } });
    expect(engine.info.vocabularySize).toBe(24);
    await expect(open({ connect: address, token: "secret" })).rejects.toMatchObject({ code: "connection-lost" });
    child.stdin.end();
    await once(child, "exit");
    const { python, env: found } = findPython(undefined, false);
    for (const more of [{}, { LUDUS_WORKER_TOKEN: "secret" }]) {
      const open = spawn(python, ["-m", "ludus_worker", "--host", "0.0.0.0"], {
        env: { ...process.env, ...found, ...more },
      });
      expect(await once(open, "exit")).toEqual([1, null]);
    }
  });

  test("what the worker cannot do is said when the engine is made", async () => {
    await expect(open({ folder: join(folder, "nothing") })).rejects.toMatchObject({ code: "checkpoint-not-found" });
    const { model: _, ...none } = { model: undefined };
    await expect(torch({ ...none, log: () => {} })).rejects.toMatchObject({ code: "no-model" });
    await expect(open({ sampler: vllm({ url: "http://127.0.0.1:1" }) })).rejects.toMatchObject({ code: "bad-option" });
    await expect(open({ device: "cuda:7" })).rejects.toMatchObject({ code: "no-device" });
  });
});

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}
