import { z } from "zod";
import { defined } from "../../defined.ts";
import { LudusError } from "../../errors.ts";
import type { Sample, SampleRequest, SampleStop } from "../engine.ts";

/** How a vLLM server is reached. */
export interface VllmServerOptions {
  readonly url: string;
  readonly apiKey?: string;
  readonly processedLogprobs?: boolean;
}

const Completion = z.object({
  choices: z.tuple([
    z.looseObject({
      finish_reason: z.string().nullish(),
      stop_reason: z.union([z.string(), z.number()]).nullish(),
      logprobs: z.looseObject({
        tokens: z.array(z.string()),
        token_logprobs: z.array(z.number()),
        top_logprobs: z.array(z.record(z.string(), z.number()).nullable()).nullish(),
      }),
    }),
  ]),
});
type Choice = z.infer<typeof Completion>["choices"][0];

/** vLLM's OpenAI-compatible server: token ids in and out. */
export class VllmServer {
  readonly #options: VllmServerOptions;

  constructor(options: VllmServerOptions) {
    this.#options = options;
  }

  /** A completion by one of the server's models, whose weights have this version. */
  async complete(model: string, version: number, request: SampleRequest, signal?: AbortSignal): Promise<Sample> {
    const reply = await this.post("/v1/completions", { model, ...completionRequest(request) }, signal);
    return toSample(parse(reply).choices[0], request, version);
  }

  /** Refuses options that the server cannot report as the contract asks. */
  check({ temperature = 1, topP = 1, topK }: SampleRequest): void {
    if (topP < 1 || topK !== undefined) {
      throw new LudusError("bad-option", {
        got: `${topP < 1 ? `topP = ${topP}` : `topK = ${topK}`} with vLLM`,
        expected: "no cut: the server reports log-probabilities before or after the cut, and both are needed",
        hint: "Leave out topP and topK, or sample without `sampler`.",
      });
    }
    if (temperature !== 1 && temperature !== 0 && this.#options.processedLogprobs !== true) {
      throw new LudusError("bad-option", {
        got: `temperature = ${temperature} with raw log-probabilities`,
        expected: "temperature 1, or log-probabilities at the temperature of the sampling",
        hint: "Start vLLM with --logprobs-mode processed_logprobs and say so: vllm({ url, processedLogprobs: true }).",
      });
    }
  }

  async post(path: string, body: unknown, signal?: AbortSignal): Promise<string> {
    return this.#text(path, { method: "POST", body: JSON.stringify(body), ...defined({ signal }) });
  }

  async get<Schema extends z.ZodType>(path: string, schema: Schema): Promise<z.output<Schema>> {
    const text = await this.#text(path, {});
    const read = schema.safeParse(parsedJson(text));
    if (read.success) return read.data;
    throw new LudusError("sampler-refused", {
      got: `${text.slice(0, 300)} for ${path}`,
      expected: "an answer of vLLM",
    });
  }

  async #text(path: string, init: RequestInit): Promise<string> {
    const { url, apiKey } = this.#options;
    const headers = {
      "content-type": "application/json",
      ...defined({ authorization: apiKey === undefined ? undefined : `Bearer ${apiKey}` }),
    };
    let response: Response;
    let text: string;
    try {
      response = await fetch(new URL(path, url), { ...init, headers });
      text = await response.text();
    } catch (cause) {
      init.signal?.throwIfAborted();
      throw new LudusError("sampler-unreachable", {
        got:
          cause instanceof Error
            ? `${cause.message}${cause.cause instanceof Error ? `: ${cause.cause.message}` : ""}`
            : "",
        expected: `a vLLM server at ${url}`,
        cause,
      });
    }
    if (response.ok) return text;
    throw new LudusError("sampler-refused", {
      got: `${response.status} for ${path}: ${text.slice(0, 500)}`,
      expected: "200",
      ...defined({ hint: hintFor(path) }),
    });
  }
}

function hintFor(path: string): string | undefined {
  if (path.includes("lora")) {
    return "The server needs --enable-lora and VLLM_ALLOW_RUNTIME_LORA_UPDATING=True, and must see the folder.";
  }
  if (!/weight|pause|resume|world_size/.test(path)) return undefined;
  return `The server needs VLLM_SERVER_DEV_MODE=1 and --weight-transfer-config '{"backend": "nccl"}', and vLLM 0.32 or newer.`;
}

function completionRequest(request: SampleRequest): Record<string, unknown> {
  return {
    prompt: Array.from(request.tokens),
    max_tokens: request.maxTokens,
    temperature: request.temperature ?? 1,
    seed: request.seed,
    stop_token_ids: request.stopTokens ?? [],
    ...defined({ stop: request.stopStrings }),
    // the model's own end counts only where it is asked for
    ignore_eos: true,
    skip_special_tokens: false,
    logprobs: request.alternatives ?? 0,
    return_tokens_as_token_ids: true,
  };
}

function parsedJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function parse(reply: string): z.infer<typeof Completion> {
  const parsed = Completion.safeParse(parsedJson(reply));
  if (parsed.success) return parsed.data;
  throw new LudusError("sampler-refused", {
    got: `${reply.slice(0, 300)} (${parsed.error.issues[0].message})`,
    expected: "a completion with log-probabilities",
    cause: parsed.error,
  });
}

/** "token_id:17" is how the server names tokens when asked for ids. */
function tokenId(name: string): number {
  const id = /^token_id:(\d+)$/.exec(name)?.[1];
  if (id === undefined) {
    throw new LudusError("sampler-refused", {
      got: `the token "${name}"`,
      expected: "token_id:<number>",
      hint: "The server does not know return_tokens_as_token_ids; use a newer vLLM.",
    });
  }
  return Number(id);
}

function toSample(choice: Choice, request: SampleRequest, version: number): Sample {
  const { tokens: names, token_logprobs: logprobs, top_logprobs: top } = choice.logprobs;
  const tokens = Int32Array.from(names, tokenId);
  const count = request.alternatives;
  return {
    tokens,
    logprobs: Float32Array.from(logprobs),
    versions: new Int32Array(tokens.length).fill(version),
    stop: stopOf(choice, tokens, request),
    ...defined({ alternatives: count === undefined ? undefined : alternativesOf(top ?? [], count) }),
  };
}

function stopOf(choice: Choice, tokens: Int32Array, { maxTokens, stopTokens = [] }: SampleRequest): SampleStop {
  if (choice.finish_reason === "stop") {
    if (typeof choice.stop_reason === "string") return "stop-string";
    if (stopTokens.includes(tokens.at(-1) ?? -1)) return "stop-token";
  }
  return tokens.length >= maxTokens ? "max-tokens" : "context-full";
}

function alternativesOf(top: readonly (Record<string, number> | null)[], count: number) {
  const tokens = new Int32Array(top.length * count);
  const logprobs = new Float32Array(top.length * count);
  top.forEach((known, t) => {
    // the sampled token is there too, even where it is not among the most probable
    const best = Object.entries(known ?? {}).sort((a, b) => b[1] - a[1] || tokenId(a[0]) - tokenId(b[0]));
    best.slice(0, count).forEach(([name, logprob], k) => {
      tokens[t * count + k] = tokenId(name);
      logprobs[t * count + k] = logprob;
    });
  });
  return { count, tokens, logprobs };
}
