import { randomBytes, timingSafeEqual } from "node:crypto";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { z } from "zod";
import type { Engine, Sample } from "../../engine/engine.ts";
import { errorText, LudusError } from "../../errors.ts";
import { listenError } from "../../listen-error.ts";
import { fromLosslessJson, toLosslessJson } from "../../schema/lossless-json.ts";

export interface SamplerEndpointOptions {
  /** 127.0.0.1 by default: workers of other machines need an address that they can reach. */
  readonly host: string;
  readonly port: number;
}

export interface SamplerEndpoint {
  readonly url: string;
  readonly key: string;
  close(): Promise<void>;
}

/** A prompt of a million tokens is some seven megabytes. */
const maxBodyBytes = 32 * 2 ** 20;

const Request = z.object({
  tokens: z.array(z.int()),
  maxTokens: z.int(),
  seed: z.number(),
  temperature: z.number().exactOptional(),
  topP: z.number().exactOptional(),
  topK: z.number().exactOptional(),
  stopTokens: z.array(z.int()).exactOptional(),
  stopStrings: z.array(z.string()).exactOptional(),
  rollout: z.string().exactOptional(),
  weights: z.string().exactOptional(),
});
const Release = z.object({ rollout: z.string() });

/** Lets processes elsewhere sample from an engine: `POST /sample`, `POST /release`, `GET /info`, with a key. */
export async function serveSampler(
  engine: Pick<Engine, "sample" | "release" | "info">,
  { host, port }: SamplerEndpointOptions,
): Promise<SamplerEndpoint> {
  const key = randomBytes(24).toString("base64url");
  const server = createServer((request, response) => {
    answer(engine, key, request, response).catch((error: unknown) => {
      send(response, error instanceof LudusError && error.code === "bad-request" ? 400 : 500, {
        error: errorText(error),
      });
    });
  });
  await new Promise<void>((resolve, reject) => {
    server.once("error", (cause) => reject(listenError(cause, host, port)));
    server.listen(port, host, resolve);
  });
  // whoever serves goes on as long as it has other work
  server.unref();
  const { port: taken } = server.address() as AddressInfo;
  return {
    url: `http://${host.includes(":") ? `[${host}]` : host}:${taken}`,
    key,
    async close() {
      server.closeAllConnections();
      await new Promise((done) => server.close(done));
    },
  };
}

async function answer(
  engine: Pick<Engine, "sample" | "release" | "info">,
  key: string,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  if (!isAllowed(request.headers.authorization, key))
    return send(response, 401, { error: "the key is missing or wrong" });
  const route = `${request.method} ${request.url}`;
  if (route === "GET /info") return send(response, 200, engine.info);
  if (route !== "POST /sample" && route !== "POST /release") return send(response, 404, { error: "no such route" });
  const body = fromLosslessJson(await readBody(request));
  if (route === "POST /release") {
    await engine.release({ rollout: parsed(Release, body).rollout });
    return send(response, 200, {});
  }
  const gone = new AbortController();
  response.on("close", () => gone.abort());
  const sample = await engine.sample(parsed(Request, body), gone.signal);
  return send(response, 200, sampleJson(sample));
}

function isAllowed(header: string | undefined, key: string): boolean {
  const [given, wanted] = [Buffer.from(header ?? ""), Buffer.from(`Bearer ${key}`)];
  return given.length === wanted.length && timingSafeEqual(given, wanted);
}

function parsed<Value>(schema: z.ZodType<Value>, body: unknown): Value {
  const result = schema.safeParse(body);
  if (result.success) return result.data;
  throw new LudusError("bad-request", { got: z.prettifyError(result.error), expected: "a request to sample" });
}

async function readBody(request: IncomingMessage): Promise<string> {
  const parts: Buffer[] = [];
  let size = 0;
  for await (const part of request as AsyncIterable<Buffer>) {
    size += part.length;
    if (size > maxBodyBytes)
      throw new LudusError("bad-request", { got: "a larger body", expected: `${maxBodyBytes} bytes at most` });
    parts.push(part);
  }
  return Buffer.concat(parts).toString("utf8");
}

function sampleJson({ tokens, logprobs, cutLogprobs, versions, stop }: Sample): unknown {
  const cut = cutLogprobs === undefined ? {} : { cutLogprobs: [...cutLogprobs] };
  return { tokens: [...tokens], logprobs: [...logprobs], versions: [...versions], stop, ...cut };
}

function send(response: ServerResponse, status: number, body: unknown): void {
  if (response.headersSent || response.destroyed) return;
  response.writeHead(status, { "content-type": "application/json" }).end(toLosslessJson(body));
}
