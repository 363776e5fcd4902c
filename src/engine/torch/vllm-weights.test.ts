import { spawn } from "node:child_process";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { fakeEngine } from "../fake-engine.ts";
import type { PublishedWeights } from "../sampler.ts";
import { splitEngine } from "../split-engine.ts";
import { type VllmWeightsOptions, vllmWeights } from "./vllm-weights.ts";
import type { WeightSender } from "./weight-sender.ts";
import { ProcessSender } from "./weight-sender-process.ts";

/** Both sides of a transfer: a stand-in for vLLM's routes, and one for the ranks that NCCL connects. */
class FakeTransfer {
  readonly log: string[] = [];
  readonly bodies = new Map<string, Record<string, never>>();
  readonly failing = new Map<string, number>();
  /** Resolved when the sender has come to the same point: neither side goes on alone. */
  #meeting = Promise.withResolvers<void>();
  senderFails: string | undefined;
  isPaused = false;
  #server: Server | undefined;

  async start(): Promise<string> {
    this.#server = createServer((request, response) => {
      let text = "";
      request.on("data", (chunk) => {
        text += chunk;
      });
      request.on("end", async () => {
        const [status, reply] = await this.#answer(request.url ?? "", text === "" ? {} : JSON.parse(text));
        response.writeHead(status).end(JSON.stringify(reply));
      });
    });
    await new Promise<void>((done) => this.#server!.listen(0, "127.0.0.1", done));
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  stop(): void {
    this.#server?.closeAllConnections();
    this.#server?.close();
  }

  async #answer(path: string, body: Record<string, never>): Promise<[number, unknown]> {
    this.log.push(path);
    this.bodies.set(path, body);
    const left = this.failing.get(path) ?? 0;
    if (left > 0) {
      this.failing.set(path, left - 1);
      return [500, { error: "no" }];
    }
    if (path === "/v1/models") return [200, { data: [{ id: "served" }] }];
    if (path === "/get_world_size") return [200, { world_size: 2 }];
    if (path.startsWith("/pause")) this.isPaused = true;
    if (path === "/resume") this.isPaused = false;
    if (path === "/init_weight_transfer_engine" || path === "/update_weights") await this.#meeting.promise;
    if (path !== "/v1/completions") return [200, { message: "done" }];
    if (this.isPaused) return [503, { error: "paused" }];
    const logprobs = { tokens: ["token_id:7"], token_logprobs: [-0.5] };
    return [200, { choices: [{ finish_reason: "length", stop_reason: null, logprobs }] }];
  }

  sender(): WeightSender {
    const meet = (what: string) => async () => {
      this.log.push(what);
      if (this.senderFails === what) throw new Error(`${what} broke`);
      this.#meeting.resolve();
      this.#meeting = Promise.withResolvers<void>();
    };
    return {
      identify: async () => "aWQ=",
      join: meet("join"),
      describe: async () => ({ names: ["w"], dtype_names: ["bfloat16"], shapes: [[2, 3]] }),
      // the server is asked first, or the meeting would be over before it came
      send: async () => {
        while (this.log.at(-1) !== "/update_weights") await new Promise((done) => setImmediate(done));
        await meet("send")();
      },
      close: async () => void this.log.push("close"),
    };
  }
}

let fake: FakeTransfer;
let url: string;
beforeEach(async () => {
  fake = new FakeTransfer();
  url = await fake.start();
});
afterEach(() => fake.stop());

const published = (version: number): PublishedWeights => ({ directory: `/w/${version}`, version, kind: "model" });
const open = (options: Partial<VllmWeightsOptions> = {}) =>
  vllmWeights({ url, sender: () => senderAfterServer(), ...options });

/** `join` of the stand-in comes after the server has been asked to. */
function senderAfterServer(): WeightSender {
  const sender = fake.sender();
  return {
    ...sender,
    join: async (worldSize) => {
      while (fake.log.at(-1) !== "/init_weight_transfer_engine") await new Promise((done) => setImmediate(done));
      await sender.join(worldSize);
    },
  };
}

describe("whole weights to vLLM", () => {
  test("are sent with the server's own calls, in their order, and samples carry their version", async () => {
    const sampler = open();
    await sampler.use(published(3));
    expect(fake.log).toEqual([
      "/v1/models",
      "/get_world_size",
      "/init_weight_transfer_engine",
      "join",
      "/pause?mode=wait",
      "/start_weight_update",
      "/update_weights",
      "send",
      "/finish_weight_update",
      "/resume",
    ]);
    expect(fake.bodies.get("/init_weight_transfer_engine")).toEqual({
      init_info: { nccl_unique_id_b64: "aWQ=", rank_offset: 1, world_size: 3, packed: false },
    });
    expect(fake.bodies.get("/update_weights")).toEqual({
      update_info: { names: ["w"], dtype_names: ["bfloat16"], shapes: [[2, 3]] },
    });
    expect(fake.bodies.get("/finish_weight_update")).toEqual({ weight_version: "3" });
    const sample = await sampler.sample({ tokens: [1], maxTokens: 1, seed: 0 });
    expect([[...sample.tokens], [...sample.versions]]).toEqual([[7], [3]]);
    expect(fake.bodies.get("/v1/completions")).toMatchObject({ model: "served" });
  });

  test("are connected once; sequences that are held get no prefixes of the old weights", async () => {
    const sampler = open({ inFlight: "keep", model: "mine" });
    await sampler.use(published(1));
    await sampler.use(published(2));
    expect(fake.log.filter((path) => path === "/init_weight_transfer_engine")).toHaveLength(1);
    expect(fake.log.slice(-7)).toEqual([
      "/pause?mode=keep",
      "/start_weight_update",
      "/update_weights",
      "send",
      "/finish_weight_update",
      "/reset_prefix_cache",
      "/resume",
    ]);
    expect([...(await sampler.sample({ tokens: [1], maxTokens: 1, seed: 0 })).versions]).toEqual([2]);
  });

  test.each(["/update_weights", "/finish_weight_update", "/start_weight_update"])(
    "that did not all arrive are not sampled from, after a failure of %s; the next use connects again",
    async (path) => {
      const sampler = open();
      await sampler.use(published(1));
      fake.failing.set(path, 1);
      await expect(sampler.use(published(2))).rejects.toMatchObject({ code: "sampler-gone" });
      await expect(sampler.sample({ tokens: [1], maxTokens: 1, seed: 0 })).rejects.toMatchObject({
        code: "sampler-gone",
      });
      expect(fake.isPaused).toBe(true);
      expect(fake.log.slice(-2)).toEqual(["close", "/shutdown_weight_transfer_engine"]);
      await sampler.use(published(2));
      expect(fake.isPaused).toBe(false);
      expect([...(await sampler.sample({ tokens: [1], maxTokens: 1, seed: 0 })).versions]).toEqual([2]);
    },
  );

  test("whose sender breaks leave the sampler out", async () => {
    fake.senderFails = "send";
    await expect(open().use(published(1))).rejects.toMatchObject({
      code: "sampler-gone",
      message: expect.stringContaining("send broke"),
    });
  });

  test("a server without these calls is told apart from one that is not there", async () => {
    fake.failing.set("/get_world_size", 1);
    await expect(open().use(published(1))).rejects.toThrow("VLLM_SERVER_DEV_MODE=1");
    await expect(vllmWeights({ url: "http://127.0.0.1:9" }).use(published(1))).rejects.toMatchObject({
      code: "sampler-unreachable",
    });
    await expect(open().use({ ...published(1), kind: "adapter" })).rejects.toMatchObject({ code: "bad-option" });
    expect(() => vllmWeights({ url, inflight: "keep" } as never)).toThrow('did you mean "inFlight"');
  });

  test("go to it from a split engine", async () => {
    const trainer = fakeEngine({ vocabularySize: 9, distribution: new Array(9).fill(1) });
    const engine = splitEngine({ trainer, samplers: [open()] });
    expect([...(await engine.sample({ tokens: [1], maxTokens: 1, seed: 0 })).tokens]).toEqual([7]);
    await engine.close();
    expect(fake.log.at(-2)).toBe("close");
  });
});

describe("the process that sends", () => {
  const start = (program: string) => new ProcessSender(spawn(process.execPath, ["-e", program], { stdio: "pipe" }));
  const answering = `
    require("readline").createInterface(process.stdin).on("line", (line) => {
      const command = JSON.parse(line);
      console.log("a library prints this");
      console.log(JSON.stringify(command.do === "identify" ? { ok: "aWQ=" } : command.do === "join" ? { error: "no GPU" } : { ok: null }));
    });`;

  test("is asked line by line, and what it cannot do is told", async () => {
    const sender = start(answering);
    expect(await sender.identify()).toBe("aWQ=");
    await expect(sender.join(2)).rejects.toThrow("no GPU");
    await sender.send("/w");
    await sender.close();
    await expect(sender.send("/w")).rejects.toMatchObject({ code: "sampler-gone" });
  });

  test("that dies fails what waits, with its last words", async () => {
    const sender = start("process.stdin.once('data', () => { console.error('CUDA is gone'); process.exit(3); })");
    await expect(sender.send("/w")).rejects.toThrow(/ended with 3\. CUDA is gone/);
    await sender.close();
  });
});
