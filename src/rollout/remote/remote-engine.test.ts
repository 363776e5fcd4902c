import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, describe, expect, test } from "vitest";
import { fakeEngine } from "../../engine/fake-engine.ts";
import { onWorkers } from "./on-workers.ts";
import { remoteEngine } from "./remote-engine.ts";
import { serveSampler } from "./sampler-endpoint.ts";

/** What workers ask of vLLM: which models there are, and completions over token ids. Counts on from the last token of the prompt. */
class FakeVllm {
  models = ["base"];
  key = "secret";
  readonly asked: string[] = [];
  readonly #server: Server;
  url = "";

  constructor() {
    this.#server = createServer((request, response) => {
      let text = "";
      request.on("data", (part) => {
        text += part;
      });
      request.on("end", () => {
        const [status, reply] = this.#answer(request.url ?? "", request.headers.authorization, text);
        response.writeHead(status).end(JSON.stringify(reply));
      });
    });
  }

  async start(): Promise<this> {
    await new Promise<void>((resolve) => this.#server.listen(0, "127.0.0.1", resolve));
    this.url = `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
    return this;
  }

  #answer(path: string, authorization: string | undefined, text: string): [number, unknown] {
    if (authorization !== `Bearer ${this.key}`) return [401, { error: "Unauthorized" }];
    if (path === "/v1/models") return [200, { data: this.models.map((id) => ({ id })) }];
    const { model, prompt, max_tokens: count } = JSON.parse(text);
    this.asked.push(model);
    if (!this.models.includes(model)) return [404, { error: `no model ${model}` }];
    const tokens = Array.from({ length: count }, (_, i) => `token_id:${prompt.at(-1) + 1 + i}`);
    const logprobs = { tokens, token_logprobs: tokens.map(() => -0.5) };
    return [200, { choices: [{ finish_reason: "length", logprobs }] }];
  }

  close(): void {
    this.#server.closeAllConnections();
    this.#server.close();
  }
}

const open: { close(): unknown }[] = [];
afterEach(async () => {
  for (const each of open.splice(0)) await each.close();
});

async function fake(): Promise<FakeVllm> {
  const server = await new FakeVllm().start();
  open.push(server);
  return server;
}

const options = { contextLength: 64, policyVersion: 4 };
const request = { tokens: [5, 6], maxTokens: 2, seed: 1, rollout: "a" };

describe("an address of vLLM", () => {
  test("samples from the newest adapter, with its version, and looks again when it is gone", async () => {
    const server = await fake();
    server.models = ["base", "run-7", "run-8", "run-old", "other-9"];
    const { engine } = remoteEngine([{ url: server.url, key: "secret", model: "run" }], options);
    const sample = await engine.sample(request);
    expect({ tokens: [...sample.tokens], versions: [...sample.versions], stop: sample.stop }).toEqual({
      tokens: [7, 8],
      versions: [8, 8],
      stop: "max-tokens",
    });
    expect(sample.logprobs[0]).toBeCloseTo(-0.5);
    server.models = ["base", "run-9"];
    expect([...(await engine.sample(request)).versions]).toEqual([9, 9]);
    expect(server.asked).toEqual(["run-8", "run-8", "run-9"]);
    await engine.release({ rollout: "a" });
  });

  test("samples from a model without adapters as the version of the job", async () => {
    const server = await fake();
    const { engine } = remoteEngine([{ url: server.url, key: "secret", model: "base" }], options);
    expect([...(await engine.sample(request)).versions]).toEqual([4, 4]);
  });

  test.each([
    ["a wrong key", { key: "guess" }, /401/],
    ["a model that is not there", { model: "missing" }, /"missing", or adapters called/],
  ])("with %s is left for the next one, and alone it is nobody's fault but its own", async (_, change, why) => {
    const server = await fake();
    const address = { url: server.url, key: "secret", model: "base", ...change };
    const spare = await serveSampler(fakeEngine({ vocabularySize: 2, distribution: [0, 1] }), {
      host: "127.0.0.1",
      port: 0,
    });
    open.push(spare);
    const both = remoteEngine([address, spare], options);
    expect([...(await both.engine.sample({ ...request, tokens: [1] })).tokens]).toEqual([1, 1]);
    expect(both.failure).toBeUndefined();
    const alone = remoteEngine([address], options);
    await expect(alone.engine.sample(request)).rejects.toMatchObject({ code: "no-sampler" });
    expect(alone.failure).toMatch(why);
    expect(alone.failure).not.toContain("guess");
  });

  test("that nobody listens at is said with its address", async () => {
    const server = await fake();
    server.close();
    const { engine } = remoteEngine([{ url: server.url, model: "base" }], options);
    await expect(engine.sample(request)).rejects.toThrow(server.url);
  });

  test("refuses what vLLM cannot report", async () => {
    const server = await fake();
    const remote = remoteEngine([{ url: server.url, key: "secret", model: "base" }], options);
    await expect(remote.engine.sample({ ...request, topK: 3 })).rejects.toMatchObject({ code: "bad-option" });
    await expect(remote.engine.sample({ ...request, temperature: 0.5 })).rejects.toMatchObject({ code: "bad-option" });
    expect(remote.failure).toBeUndefined();
  });
});

test.each([
  ["none", [], /no samplers/],
  ["no address", [{ url: "10.0.0.5:8000" }], /the sampler 10\.0\.0\.5:8000/],
  ["a misspelt option", [{ url: "http://127.0.0.1:1", modle: "x" }], /modle/],
])("onWorkers refuses samplers: %s", (_, samplers, message) => {
  const world = { name: "nothing" } as never;
  expect(() => onWorkers(world, { connect: "postgres://x", run: "a", samplers: samplers as never })).toThrow(message);
});
