import { defined } from "../defined.ts";
import type { Engine } from "../engine/engine.ts";
import { type HubOptions, hubFolder, hubOptions } from "../engine/hub/hub-folder.ts";
import { type LoraOptions, torch } from "../engine/torch/torch.ts";
import { LudusError } from "../errors.ts";
import { type KnownOptions, refuseUnknownOptions } from "../known-options.ts";
import { chatRenderer } from "../policy/chat-renderer.ts";
import { compactRenderer } from "../policy/compact-renderer.ts";
import { loadTokenizer } from "../policy/load-tokenizer.ts";
import type { Tokenizer } from "../policy/tokenizer.ts";
import type { MakePolicy } from "./learning-policy.ts";

export interface FromPretrainedOptions extends HubOptions {
  /** Adapters that are trained, of rank 16 by default; `false` trains all weights. Of PyTorch. */
  lora?: LoraOptions | false;
  /** The model's chat template by default; `compact` for a folder that was trained so. */
  renderer?: "chat" | "compact";
  /** What computes: `torch` by default. `embedded` trains small models without Python. */
  engine?: (start: PretrainedModel) => Promise<Engine>;
}

/** What an engine needs to go on with a model. */
export interface PretrainedModel {
  readonly folder: string;
  readonly tokenizer: Tokenizer;
}

const known: KnownOptions<FromPretrainedOptions> = { ...hubOptions, lora: true, renderer: true, engine: true };
const defaultLora: LoraOptions = { rank: 16 };

/**
 * A policy that begins with a trained model: a folder, or a name of the Hugging Face hub.
 *
 *     policy: fromPretrained("Qwen/Qwen2.5-0.5B-Instruct")                                       // adapters, on PyTorch
 *     policy: fromPretrained("./model", { lora: false })                                         // all weights
 *     policy: fromPretrained("./small-model", { engine: (start) => embedded(start) })            // without Python
 */
export function fromPretrained(nameOrFolder: string, options: FromPretrainedOptions = {}): MakePolicy {
  refuseUnknownOptions("fromPretrained", options, known);
  const { lora, renderer: style = "chat", engine: makeEngine, ...hub } = options;
  if (lora !== undefined && makeEngine !== undefined) {
    throw new LudusError("bad-option", {
      got: "fromPretrained with both `lora` and `engine`",
      expected: "`lora` alone, which is of PyTorch",
      hint: "Give it to the engine: engine: (start) => torch({ ...start, lora: { rank: 16 } }).",
    });
  }
  const adapters = lora === false ? undefined : (lora ?? defaultLora);
  const make = makeEngine ?? ((start: PretrainedModel) => torch({ ...start, ...defined({ lora: adapters }) }));
  return async () => {
    const folder = await hubFolder(nameOrFolder, hub);
    const tokenizer = await loadTokenizer(folder);
    if (style === "chat" && tokenizer.chatTemplate === undefined) {
      throw new LudusError("no-chat-template", {
        got: `${nameOrFolder} without a chat template`,
        expected: "a model that was trained to chat",
        hint: 'Take its instruct version, or renderer: "compact" and a warm start.',
      });
    }
    const renderer = style === "chat" ? chatRenderer({ tokenizer }) : compactRenderer({ tokenizer });
    return { engine: await make({ folder, tokenizer }), renderer, tokenizer };
  };
}
