import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, beforeEach, expect, test } from "vitest";
import { vllm } from "./vllm.ts";

interface Call {
  path: string;
  body: Record<string, unknown>;
}

/** A fake of the part of vLLM's API that is used: completions over token ids, adapters loaded and unloaded. */
class FakeVllm {
  readonly calls: Call[] = [];
  readonly adapters = new Map<string, string>();
  hold: Promise<void> | undefined;
  #server: Server | undefined;

  async start(): Promise<string> {
    this.#server = createServer((request, response) => {
      let text = "";
      request.on("data", (chunk) => {
        text += chunk;
      });
      request.on("end", async () => {
        const [status, reply] = await this.#answer({ path: request.url ?? "", body: JSON.parse(text) });
        response.writeHead(status).end(typeof reply === "string" ? reply : JSON.stringify(reply));
      });
    });
    await new Promise<void>((resolve) => this.#server!.listen(0, "127.0.0.1", resolve));
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  async #answer(call: Call): Promise<[number, unknown]> {
    this.calls.push(call);
    const { path, body } = call;
    const name = String(body.lora_name);
    if (path === "/v1/load_lora_adapter") {
      if (this.adapters.has(name)) return [400, "already loaded"];
      this.adapters.set(name, String(body.lora_path));
      return [200, "Success"];
    }
    if (path === "/v1/unload_lora_adapter")
      return this.adapters.delete(name) ? [200, "Success"] : [404, "no such adapter"];
    if (!this.adapters.has(String(body.model))) return [404, { error: { message: `no model ${body.model}` } }];
    await this.hold;
    return [200, this.#complete(body)];
  }

  /** Counts on from the last token of the prompt; every token has probability 1/2, its successor 1/4. */
  #complete(body: Record<string, unknown>) {
    const last = (body.prompt as number[]).at(-1)!;
    const stops = body.stop_token_ids as number[];
    const tokens: number[] = [];
    while (tokens.length < (body.max_tokens as number) && !stops.includes(tokens.at(-1) ?? -1))
      tokens.push(last + tokens.length + 1);
    const isStopped = stops.includes(tokens.at(-1)!);
    const names = tokens.map((token) => `token_id:${token}`);
    const logprobs = {
      tokens: names,
      token_logprobs: names.map(() => Math.log(0.5)),
      top_logprobs: tokens.map((t) => ({ [`token_id:${t + 1}`]: Math.log(0.25), [`token_id:${t}`]: Math.log(0.5) })),
    };
    return {
      choices: [
        { finish_reason: isStopped ? "stop" : "length", stop_reason: isStopped ? tokens.at(-1) : null, logprobs },
      ],
    };
  }

  stop(): void {
    this.#server?.closeAllConnections();
    this.#server?.close();
  }
}

let server: FakeVllm;
let url: string;
beforeEach(async () => {
  server = new FakeVllm();
  url = await server.start();
});
afterEach(() => server.stop());

test("token ids go in and come out with log-probabilities, version and stop", async () => {
  const sampler = vllm({ url });
  await sampler.use({ directory: "/adapters/3", version: 3, kind: "adapter" });
  const request = { tokens: [5, 6], maxTokens: 4, seed: 9, stopTokens: [8], alternatives: 2 };
  const sample = await sampler.sample(request);
  expect([...sample.tokens]).toEqual([7, 8]);
  expect([...sample.versions]).toEqual([3, 3]);
  expect(sample.logprobs[0]).toBeCloseTo(Math.log(0.5));
  expect(sample.stop).toBe("stop-token");
  expect([...sample.alternatives!.tokens]).toEqual([7, 8, 8, 9]);
  expect(server.calls.at(-1)).toMatchObject({
    path: "/v1/completions",
    body: { model: "ludus-3", prompt: [5, 6], seed: 9, max_tokens: 4, stop_token_ids: [8], ignore_eos: true },
  });
  expect((await sampler.sample({ tokens: [1], maxTokens: 3, seed: 0 })).stop).toBe("max-tokens");
});

test("each version of the policy is loaded, and the one before unloaded once nothing samples from it", async () => {
  const sampler = vllm({ url, name: "run" });
  await sampler.use({ directory: "/adapters/0", version: 0, kind: "adapter" });
  let go = () => {};
  server.hold = new Promise((resolve) => {
    go = resolve;
  });
  const slow = sampler.sample({ tokens: [1], maxTokens: 1, seed: 0 });
  await new Promise<void>((resolve) => {
    const look = () => (server.calls.length > 1 ? resolve() : setImmediate(look));
    look();
  });
  await sampler.use({ directory: "/adapters/1", version: 1, kind: "adapter" });
  expect([...server.adapters]).toEqual([
    ["run-0", "/adapters/0"],
    ["run-1", "/adapters/1"],
  ]);
  go();
  expect([...(await slow).versions]).toEqual([0]);
  expect([...server.adapters.keys()]).toEqual(["run-1"]);
  // the same version again, after a checkpoint was loaded
  await sampler.use({ directory: "/adapters/other", version: 1, kind: "adapter" });
  expect(server.adapters.get("run-1")).toBe("/adapters/other");
});

test("what the server cannot answer in the words of the contract is refused", async () => {
  const sampler = vllm({ url });
  await sampler.use({ directory: "/adapters/0", version: 0, kind: "adapter" });
  const request = { tokens: [1], maxTokens: 1, seed: 0 };
  await expect(sampler.sample({ ...request, topK: 3 })).rejects.toMatchObject({ code: "bad-option" });
  await expect(sampler.sample({ ...request, temperature: 0.7 })).rejects.toMatchObject({ code: "bad-option" });
  const processed = vllm({ url, processedLogprobs: true, name: "processed" });
  await processed.use({ directory: "/adapters/0", version: 0, kind: "adapter" });
  expect((await processed.sample({ ...request, temperature: 0.7 })).tokens.length).toBe(1);
});

test("faults of the server are named", async () => {
  const sampler = vllm({ url });
  const request = { tokens: [1], maxTokens: 1, seed: 0 };
  await expect(sampler.sample(request)).rejects.toMatchObject({ code: "no-adapter" });
  await sampler.use({ directory: "/adapters/0", version: 0, kind: "adapter" });
  server.adapters.clear();
  await expect(sampler.sample(request)).rejects.toMatchObject({ code: "sampler-refused" });
  await expect(sampler.sample(request, AbortSignal.abort(new Error("enough")))).rejects.toThrow("enough");
  server.stop();
  await expect(sampler.sample(request)).rejects.toMatchObject({ code: "sampler-unreachable" });
});

test("whole weights are refused: they would need vLLM's own transfer", async () => {
  const sampler = vllm({ url: "http://127.0.0.1:9" });
  await expect(sampler.use({ directory: "/weights", version: 0, kind: "model" })).rejects.toThrow(/lora/);
});
