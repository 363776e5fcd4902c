import type { Engine, EngineInfo } from "../../engine/engine.ts";
import type { CallFormat } from "../../policy/call-format.ts";
import type { Renderer } from "../../policy/renderer.ts";
import type { Tokenizer } from "../../policy/tokenizer.ts";

/** A policy that can be asked over HTTP. */
export interface ServedModel {
  /** What clients call it; another name is refused. */
  readonly name: string;
  readonly engine: Pick<Engine, "sample" | "release"> & { readonly info: Pick<EngineInfo, "contextLength"> };
  readonly renderer: Renderer;
  readonly tokenizer: Tokenizer;
  /** How it writes tool calls. */
  readonly format: CallFormat;
  /** Where a request says nothing; the rest of the context by default. */
  readonly maxTokens?: number;
  /** Which weights each role speaks with, as in a policy; who answers here is the role `agent`. */
  readonly weights?: Readonly<Record<string, string>>;
}
