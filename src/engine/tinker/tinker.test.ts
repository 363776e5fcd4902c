import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { byteTokenizer } from "../../policy/byte-tokenizer.ts";
import { embedded } from "../embedded/embedded.ts";
import { engineContract } from "../engine.contract.ts";
import type { Engine } from "../engine.ts";
import { tiny } from "../model/model-config.ts";
import { FakeTinker } from "./fixtures/fake-tinker.ts";
import { tinker } from "./tinker.ts";
import type { TinkerOptions } from "./tinker-options.ts";

const model = tiny({
  vocabularySize: 24,
  width: 32,
  headWidth: 8,
  keyValueHeads: 2,
  layers: 1,
  contextLength: 64,
  initializerRange: 0.15,
});
const make = () => embedded({ model, seed: 3, threads: 1 });
const tokenizer = { ...byteTokenizer(), vocabularySize: 24 };
const quick = { tokenizer, contextLength: 64, parameters: 20_000, retryMs: 2_000, backoffMs: 1, log: () => {} };

for (const server of ["tinker", "skyrl-tx"] as const) {
  describe(`a server that reduces losses as ${server}`, () => {
    const fake = new FakeTinker({ make, server });
    let url: string;
    beforeAll(async () => {
      url = await fake.start();
    });
    afterAll(() => fake.stop());
    engineContract(`the Tinker engine (${server})`, {
      make: () => tinker({ ...quick, url }),
      learns: true,
      rounding: "by-batch",
    });
  });
}

describe("the Tinker engine", () => {
  const folder = mkdtempSync(join(tmpdir(), "ludus-tinker-"));
  const rows = [{ tokens: [1, 2, 3, 4] }];
  const derivatives = { logprobs_B_T: [Float32Array.of(0, -1, 0.5, -1)] };
  let fake: FakeTinker | undefined;
  let engine: Engine | undefined;
  afterEach(async () => {
    await engine?.close();
    await fake?.stop();
    engine = undefined;
  });
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  async function open(options: Partial<TinkerOptions> = {}, change?: (server: FakeTinker) => void): Promise<Engine> {
    fake = new FakeTinker({ make });
    change?.(fake);
    engine = await tinker({ ...quick, url: await fake.start(), ...options });
    return engine;
  }

  test("learns what the engine behind the server learns from the same derivatives", async () => {
    const target = await open();
    await target.backward(await target.forward({ rows }), derivatives);
    await target.step({ learningRate: 1e-2 });
    const direct = await make();
    await direct.backward(await direct.forward({ rows }), derivatives);
    await direct.step({ learningRate: 1e-2 });
    const [here, there] = [await direct.forward({ rows }), await target.forward({ rows })];
    there.logprobs_B_T[0].forEach((logprob, t) => expect(logprob).toBeCloseTo(here.logprobs_B_T[0][t], 5));
    await direct.close();
  });

  test("tries again what a busy server refused, and asks on while it computes", async () => {
    const target = await open();
    fake!.faults.set("forward", [503, 429, "drop"]);
    fake!.faults.set("retrieve_future", ["try-again", 408, 500, "drop"]);
    expect((await target.forward({ rows })).logprobs_B_T[0].length).toBe(4);
    expect(fake!.requests.filter(({ path }) => path === "forward").length).toBe(4);
  });

  test("a gradient whose arrival is uncertain is not sent twice: the engine says so and stops", async () => {
    const target = await open();
    await target.backward(await target.forward({ rows }), derivatives);
    fake!.faults.set("forward_backward", ["late"]);
    await expect(target.step({ learningRate: 1e-2 })).rejects.toMatchObject({ code: "connection-lost" });
    expect(fake!.requests.filter(({ path }) => path === "forward_backward").length).toBe(1);
    await expect(target.forward({ rows })).rejects.toMatchObject({ code: "engine-failed" });
  });

  test("one that the server has not begun is", async () => {
    const target = await open();
    await target.backward(await target.forward({ rows }), derivatives);
    fake!.faults.set("forward_backward", [503, 429]);
    fake!.faults.set("optim_step", [503]);
    expect((await target.step({ learningRate: 1e-2 })).policyVersion).toBe(1);
  });

  test("a server that stays away is an error that names it", async () => {
    const target = await open({ retryMs: 20 });
    fake!.faults.set("forward", new Array(50).fill("drop"));
    await expect(target.forward({ rows })).rejects.toMatchObject({
      code: "connection-lost",
      details: { expected: expect.stringContaining("127.0.0.1") },
    });
    await expect(tinker({ ...quick, retryMs: 20, url: "http://127.0.0.1:9" })).rejects.toMatchObject({
      code: "connection-lost",
    });
  });

  test("the key is sent, and in no error, whatever the server repeats", async () => {
    const apiKey = "very-secret-word";
    const target = await open({ apiKey }, (server) => {
      server.key = apiKey;
    });
    expect(new Set(fake!.requests.slice(1).map(({ key }) => key))).toEqual(new Set([apiKey, undefined]));
    fake!.faults.set("forward", [400]);
    const error = await target.forward({ rows }).catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ code: "server-refused" });
    expect(`${(error as Error).stack} ${JSON.stringify(error)}`).not.toContain(apiKey);
    const refused = await tinker({ ...quick, url: fake!.url, apiKey: "another-secret-word" }).catch((thrown) => thrown);
    expect(refused).toMatchObject({ code: "key-refused" });
    expect(String(refused)).not.toContain("another-secret-word");
  });

  test("the key does not follow an archive to another machine", async () => {
    const elsewhere = new FakeTinker({ make });
    const origin = await elsewhere.start();
    const target = await open({ apiKey: "very-secret-word" }, (server) => {
      server.archiveOrigin = origin;
    });
    await expect(target.save(join(folder, "redirected"))).rejects.toMatchObject({ code: "server-refused" });
    expect(elsewhere.requests.map(({ key }) => key)).toEqual([undefined]);
    await elsewhere.stop();
  });

  test.each<[string, Partial<TinkerOptions>, string, string]>([
    ["one that is larger than allowed", { maxDownloadBytes: 100_000 }, "download-too-large", "maxDownloadBytes"],
    ["one that does not end in time", { downloadMs: 300 }, "connection-lost", "downloadMs"],
  ])("an archive is not waited for without end: %s", async (_, options, code, hint) => {
    const sent = { bytes: 0, isOver: false };
    const endless = createServer((_request, response) => {
      response.on("close", () => {
        sent.isOver = true;
      });
      const part = Buffer.alloc(options.downloadMs === undefined ? 65_536 : 16);
      const timer = setInterval(() => {
        if (response.writable && !response.writableNeedDrain) response.write(part);
        sent.bytes += part.length;
      }, 1);
      response.on("close", () => clearInterval(timer));
    });
    await new Promise<void>((done) => endless.listen(0, "127.0.0.1", done));
    const { port } = endless.address() as AddressInfo;
    const target = await open(options, (server) => {
      server.archiveOrigin = `http://127.0.0.1:${port}`;
    });
    await expect(target.save(join(folder, "endless"))).rejects.toMatchObject({
      code,
      message: expect.stringContaining(hint),
    });
    expect(existsSync(join(folder, "endless", "adapter_model.safetensors"))).toBe(false);
    await expect.poll(() => sent.isOver).toBe(true);
    await new Promise((done) => endless.close(done));
  });

  test("what is in an archive besides the adapter is not written, wherever it wants to be", async () => {
    const target = await open();
    await target.save(join(folder, "a", "b"));
    expect(existsSync(join(folder, "escaped.txt"))).toBe(false);
    expect(existsSync(join(folder, "a", "b", "adapter_model.safetensors"))).toBe(true);
  });

  test("a checkpoint of another base, or of another engine, is refused by name", async () => {
    const target = await open({ download: false });
    await target.save(join(folder, "own"));
    const file = join(folder, "own", "training", "tinker.json");
    writeFileSync(file, readFileSync(file, "utf8").replace('"base"', '"other"'));
    await expect(target.load(join(folder, "own"))).rejects.toMatchObject({ code: "other-model" });
    writeFileSync(file, "{}");
    await expect(target.load(join(folder, "own"))).rejects.toMatchObject({ code: "bad-model-folder" });
    await expect(target.load(folder)).rejects.toMatchObject({ code: "checkpoint-not-found" });
    await expect(target.save(join(folder, "w"), { only: "weights" })).rejects.toMatchObject({
      code: "no-weight-files",
    });
  });

  test("the server hears from the engine while nothing is computed, and an ended session is an error", async () => {
    const target = await open({ heartbeatMs: 1 });
    const beats = () => fake!.requests.filter(({ path }) => path === "session_heartbeat").length;
    await expect.poll(beats).toBeGreaterThan(2);
    fake!.isSessionKnown = false;
    await expect
      .poll(() =>
        target.forward({ rows }).then(
          () => "",
          ({ message }) => message,
        ),
      )
      .toContain("a session that the server has ended");
  });

  test("what it lacks is refused by name", async () => {
    const target = await open();
    const forward = await target.forward({ rows });
    await expect(target.backward(forward, { entropies_B_T: [Float32Array.of(0, 1, 1, 1)] })).rejects.toMatchObject({
      code: "no-entropies",
    });
    for (const option of [{ topP: 0.5 }, { topK: 2 }, { temperature: 0.7 }, { alternatives: 2 }])
      await expect(target.sample({ tokens: [1], maxTokens: 1, seed: 0, ...option })).rejects.toThrow("Tinker server");
  });

  test.each<[string, Partial<TinkerOptions>, string]>([
    ["unknown-model", { model: "nothing" }, "base"],
    ["insecure-connection", { url: "http://tinker.example" }, "https"],
    ["bad-option", { url: "ftp://tinker.example" }, "http://127.0.0.1:8000"],
    ["bad-option", { url: "https://user:word@tinker.example" }, "TINKER_API_KEY"],
    ["bad-option", { maxDownloadBytes: Number.NaN }, "maxDownloadBytes"],
    ["UnknownOptionError", { ranks: 4 } as object, "rank"],
  ])("%s: %o", async (code, options, text) => {
    const error = await open(options).catch((thrown) => thrown);
    expect([error.code, error.name]).toContain(code);
    expect(String(error)).toContain(text);
    expect(String(error)).not.toContain("user:word");
  });

  test("sizes that neither the server nor a folder says must be given", async () => {
    fake = new FakeTinker({ make });
    const url = await fake.start();
    const { contextLength: _, ...without } = quick;
    await expect(tinker({ ...without, url })).rejects.toThrow("contextLength");
    fake.supported = [{ model_name: "base", max_context_length: 48 }];
    engine = await tinker({ ...without, url });
    expect(engine.info.contextLength).toBe(48);
  });
});
