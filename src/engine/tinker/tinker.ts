import type { z } from "zod";
import { bounds } from "../../bounds.ts";
import { defined } from "../../defined.ts";
import { LudusError } from "../../errors.ts";
import { refuseOtherValue, refuseUnknownOptions } from "../../known-options.ts";
import type { Engine } from "../engine.ts";
import { Capabilities } from "./messages.ts";
import { TinkerClient } from "./tinker-client.ts";
import { TinkerEngine } from "./tinker-engine.ts";
import { checkPositive, checkUrl, knownTinkerOptions, sizesIn, type TinkerOptions } from "./tinker-options.ts";
import { TinkerSession } from "./tinker-session.ts";

/**
 * The engine on a server of the Tinker protocol: somebody else's GPUs, SkyRL tx on your own. An adapter is trained there; losses are
 * computed here and go over as weights of tokens. There is no entropy and no value: algorithms that need them are refused.
 *
 *     policy: fromPretrained("Qwen/Qwen3-8B", { engine: (start) => tinker({ ...start, url, model: "Qwen/Qwen3-8B" }) })
 */
export async function tinker(options: TinkerOptions): Promise<Engine> {
  refuseUnknownOptions("tinker", options, knownTinkerOptions);
  if (options.server !== undefined) refuseOtherValue("server of tinker", options.server, ["tinker", "skyrl-tx"]);
  const { retryMs = 120_000, computeMs = 1_800_000, backoffMs = 500, heartbeatMs = 10_000, rank = 32 } = options;
  const apiKey = options.apiKey ?? process.env.TINKER_API_KEY;
  const { maxDownloadBytes = bounds.adapterBytes, downloadMs = bounds.adapterMs } = options;
  checkPositive({ maxDownloadBytes, downloadMs });
  const times = { retryMs, computeMs, backoffMs, downloadMs };
  const client = new TinkerClient({ url: checkUrl(options), ...times, maxDownloadBytes, ...defined({ apiKey }) });
  const { supported_models: served } = await client.get("get_server_capabilities", Capabilities);
  const model = chosenModel(options.model, served);
  const server = options.server ?? ((await client.title()) === "Tinker API Mock" ? "skyrl-tx" : "tinker");
  const log = options.log ?? ((line: string) => process.stderr.write(`[tinker] ${line}\n`));
  const sizes = options.folder === undefined ? undefined : sizesIn(options.folder);
  const contextLength =
    options.contextLength ??
    served.find(({ model_name: name }) => name === model)?.max_context_length ??
    sizes?.contextLength;
  const parameters = options.parameters ?? sizes?.parameters;
  if (contextLength === undefined) throw missing("contextLength", "8192");
  if (parameters === undefined) throw missing("parameters", "8e9");
  const vocabularySize = sizes?.vocabularySize ?? options.tokenizer.vocabularySize;
  const lora = { rank, ...defined({ seed: options.seed }) };
  const session = await TinkerSession.open({ client, server, model, lora, heartbeatMs, log });
  const engine = new TinkerEngine({
    options,
    client,
    session,
    server,
    model,
    rank,
    sizes: { vocabularySize, contextLength, parameters },
  });
  await engine.open();
  return engine;
}

function chosenModel(wanted: string | undefined, served: z.output<typeof Capabilities>["supported_models"]): string {
  const names = served.flatMap(({ model_name: name }) => (name == null ? [] : [name]));
  const model = wanted ?? (names.length === 1 ? names[0] : undefined);
  if (model !== undefined && (names.length === 0 || names.includes(model))) return model;
  throw new LudusError("unknown-model", {
    got: model === undefined ? "no `model`" : `model "${model}"`,
    expected: `one that the server has: ${names.slice(0, 50).join(", ")}`,
  });
}

function missing(option: string, example: string): LudusError {
  return new LudusError("bad-option", {
    got: `no ${option}, and a server that does not say it`,
    expected: `tinker({ ${option}: ${example} }) or \`folder\`, with the base model's config.json`,
  });
}
