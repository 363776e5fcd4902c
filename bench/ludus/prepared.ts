import { embedded } from "../../src/engine/embedded/embedded.ts";
import type { Engine } from "../../src/engine/engine.ts";
import { parseModelConfig } from "../../src/engine/model/model-config.ts";
import { LudusError } from "../../src/errors.ts";
import { loadTokenizer } from "../../src/policy/load-tokenizer.ts";
import type { Tokenizer } from "../../src/policy/tokenizer.ts";
import type { Run, WorkloadOf } from "../child/protocol.ts";

/** A workload that is ready to be run again and again. */
export interface Prepared {
  run(): Promise<Run>;
  close(): Promise<void>;
}

export async function openEngine(model: WorkloadOf<"train">["model"], threads: number): Promise<Engine> {
  return "folder" in model
    ? await embedded({ folder: model.folder, threads })
    : await embedded({ model: parseModelConfig(model.config), threads });
}

/** The engine with the tokenizer that is in its folder. */
export async function openPolicy(
  model: WorkloadOf<"train">["model"],
  threads: number,
): Promise<{ engine: Engine; tokenizer: Tokenizer }> {
  if (!("folder" in model))
    throw new LudusError("no-tokenizer", { got: "a model without a folder", expected: "a folder with a tokenizer" });
  return { engine: await openEngine(model, threads), tokenizer: await loadTokenizer(model.folder) };
}

/** Seconds that a piece of work takes. */
export async function time(work: () => Promise<void>): Promise<number> {
  const start = performance.now();
  await work();
  return (performance.now() - start) / 1000;
}
