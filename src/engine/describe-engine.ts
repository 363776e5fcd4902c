import type { EngineInfo } from "./engine.ts";

/** One line for people: which engine, where, how large a model, and whether transformers computes it. */
export function describeEngine({ name, device, implementation, parameters, contextLength }: EngineInfo): string {
  const model = `${(parameters / 1e6).toFixed(1)}M parameters, context ${contextLength}`;
  return `${name} on ${device}; ${model}${implementation === "transformers" ? "; computed by transformers" : ""}`;
}
