// The other side of `embeddedSampler`: an engine that only samples, in a process of its own. It ends when its parent does.
import { errorText, LudusError } from "../../errors.ts";
import type { Tokenizer } from "../../policy/tokenizer.ts";
import type { Engine, SampleRequest } from "../engine.ts";
import { embedded } from "./embedded.ts";

export interface SamplerSetup {
  readonly folder: string;
  readonly threads?: number;
  readonly maxRows?: number;
  readonly maxCacheBytes?: number;
  /** For stop strings. */
  readonly tokenBytes?: readonly Uint8Array[];
}

export type SamplerMethod = "open" | "load" | "sample" | "abort" | "release";

export interface SamplerCall {
  readonly call: number;
  readonly method: SamplerMethod;
  readonly argument: unknown;
}

export interface SamplerReply {
  readonly call: number;
  readonly result?: unknown;
  readonly error?: { readonly code: string; readonly details: LudusError["details"] };
}

let engine: Engine | undefined;
const sampling = new Map<number, AbortController>();

async function answer({ call, method, argument }: SamplerCall): Promise<unknown> {
  switch (method) {
    case "open": {
      const { tokenBytes, ...setup } = argument as SamplerSetup;
      engine = await embedded({ ...setup, ...(tokenBytes === undefined ? {} : { tokenizer: bytesOnly(tokenBytes) }) });
      return undefined;
    }
    case "load":
      return engine!.load((argument as { directory: string }).directory, { optimizer: "fresh" });
    case "release":
      return engine!.release(argument as { rollout?: string });
    case "abort":
      sampling.get((argument as { id: number }).id)?.abort();
      return undefined;
    case "sample": {
      const stop = new AbortController();
      sampling.set(call, stop);
      try {
        return await engine!.sample(argument as SampleRequest, stop.signal);
      } finally {
        sampling.delete(call);
      }
    }
    default:
      return method satisfies never;
  }
}

/** As much of a tokenizer as an engine that saves nothing asks for. */
function bytesOnly(tokenBytes: readonly Uint8Array[]): Tokenizer {
  const known = { vocabularySize: tokenBytes.length, tokenBytes: (id: number) => tokenBytes[id] ?? new Uint8Array() };
  return known as unknown as Tokenizer;
}

process.on("message", async (message: SamplerCall) => {
  const { call } = message;
  const reply = (sent: SamplerReply) => process.connected && process.send!(sent);
  try {
    reply({ call, result: await answer(message) });
  } catch (error) {
    const known = error instanceof LudusError ? error : undefined;
    const details = known?.details ?? { got: errorText(error), expected: "a sample" };
    const { cause: _cause, ...sent } = details;
    reply({ call, error: { code: known?.code ?? "sampler-failed", details: sent } });
  }
});
process.on("disconnect", () => process.exit(0));
