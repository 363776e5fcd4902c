import { z } from "zod";
import { LudusError } from "../../errors.ts";
import { isLoopback } from "../../http-origin.ts";
import type { KnownOptions } from "../../known-options.ts";
import { readModelJson } from "../../model-file.ts";
import type { Tokenizer } from "../../policy/tokenizer.ts";
import { parameterShapes, parseModelConfig } from "../model/model-config.ts";
import type { TinkerServer } from "./messages.ts";

export interface TinkerOptions {
  /** Of a server of the Tinker protocol, such as "http://127.0.0.1:8000". */
  url: string;
  /** What the server calls the base model; the only one that it has by default. */
  model?: string;
  /** Sent as X-API-Key; TINKER_API_KEY by default. */
  apiKey?: string;
  /** The base model's. */
  tokenizer: Tokenizer;
  /** A Hugging Face folder of the base, for `config.json`: what it says need not be said here. Weights are not read. */
  folder?: string;
  /** Longest row in tokens; by default what the server or `folder` says. */
  contextLength?: number;
  /** How many parameters the base has; by default what `folder` says. A learning rate "by-size" needs it. */
  parameters?: number;
  /** Rank of the adapter; 32 by default. */
  rank?: number;
  /** For the adapter's initial weights. */
  seed?: number;
  /** Whose server it is, where it does not say so itself: "skyrl-tx" reduces losses differently. */
  server?: TinkerServer;
  /** How long a request is tried again while the server is away or busy; 120 s by default. */
  retryMs?: number;
  /** How long one computation may take; 30 minutes by default. */
  computeMs?: number;
  /** The first wait before another try, which doubles; 500 ms by default. */
  backoffMs?: number;
  /** How often the server is told that this program is still there; 10 s by default. */
  heartbeatMs?: number;
  /** Requests to sample that are under way at once; 128 by default. */
  concurrency?: number;
  /** Whether `save` also downloads the adapter; true by default. Without it a checkpoint only says where the weights are. */
  download?: boolean;
  /** How large the adapter may be, packed and unpacked, which is held in memory; 2 GiB by default. */
  maxDownloadBytes?: number;
  /** How long the download may take; 30 minutes by default. */
  downloadMs?: number;
  /** Plain text to another machine, on a network you trust: prompts and the key would travel readable. */
  insecure?: boolean;
  /** Takes what is worth knowing, line by line; standard error by default. */
  log?: (line: string) => void;
}

export const knownTinkerOptions: KnownOptions<TinkerOptions> = {
  url: true,
  model: true,
  apiKey: true,
  tokenizer: true,
  folder: true,
  contextLength: true,
  parameters: true,
  rank: true,
  seed: true,
  server: true,
  retryMs: true,
  computeMs: true,
  backoffMs: true,
  heartbeatMs: true,
  concurrency: true,
  download: true,
  maxDownloadBytes: true,
  downloadMs: true,
  insecure: true,
  log: true,
};

export function checkPositive(numbers: Readonly<Record<string, number>>): void {
  for (const [name, value] of Object.entries(numbers)) {
    if (Number.isInteger(value) && value > 0) continue;
    throw new LudusError("bad-option", { got: `${name} = ${value} of tinker`, expected: "a whole number above 0" });
  }
}

/** The address of a server, without a slash at its end. */
export function checkUrl({ url, insecure = false }: TinkerOptions): string {
  const address = URL.parse(url);
  if (address === null || !["http:", "https:"].includes(address.protocol)) {
    const expected = "the address of a server of the Tinker protocol, such as http://127.0.0.1:8000";
    throw new LudusError("bad-option", { got: `url = ${JSON.stringify(url)}`, expected });
  }
  if (address.username !== "" || address.password !== "") {
    const hint = "Give the key as apiKey, or in TINKER_API_KEY.";
    throw new LudusError("bad-option", { got: "a url with a name or a password", expected: "one without", hint });
  }
  if (address.protocol === "http:" && !isLoopback(address.hostname) && !insecure) {
    throw new LudusError("insecure-connection", {
      got: `http to ${address.hostname}`,
      expected: "https: prompts and the key would travel readable",
      hint: "Use https, go through an SSH tunnel, or set `insecure`.",
    });
  }
  return url.replace(/\/+$/, "");
}

/** Sizes of the base model. */
export interface BaseSizes {
  readonly vocabularySize: number;
  readonly contextLength?: number;
  readonly parameters?: number;
}

const Config = z.looseObject({
  vocab_size: z.number().int().positive(),
  max_position_embeddings: z.number().int().positive().optional(),
});

/** What `config.json` says. Parameters of a family that is not known here stay unknown. */
export function sizesIn(folder: string): BaseSizes {
  const json = readModelJson(folder, "config.json");
  const read = Config.safeParse(json);
  if (!read.success) {
    throw new LudusError("bad-model-config", {
      got: `config.json of ${folder} without a whole vocab_size`,
      expected: "that of a Hugging Face model",
    });
  }
  const { vocab_size: vocabularySize, max_position_embeddings: contextLength } = read.data;
  return {
    vocabularySize,
    ...(contextLength === undefined ? {} : { contextLength }),
    ...countedParameters(json),
  };
}

function countedParameters(json: unknown): { parameters?: number } {
  try {
    const shapes = parameterShapes(parseModelConfig(json));
    return { parameters: shapes.reduce((sum, { shape }) => sum + shape.reduce((a, b) => a * b, 1), 0) };
  } catch {
    return {};
  }
}
