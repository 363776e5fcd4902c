import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe } from "vitest";
import { type KnownOptions, refuseUnknownOptions } from "../known-options.ts";
import { badInputContract } from "./contract/bad-input.ts";
import { closingContract } from "./contract/closing.ts";
import { ContractContext } from "./contract/context.ts";
import { forwardContract } from "./contract/forward.ts";
import { gradientContract } from "./contract/gradients.ts";
import { samplingContract } from "./contract/sampling.ts";
import { weightsContract } from "./contract/weights.ts";
import type { Engine } from "./engine.ts";

export interface EngineContractOptions {
  /** A fresh engine with a vocabulary of at least 16, a context of 32 to 128 and a value head; the same weights every time. */
  make(): Promise<Engine>;
  /** False for an engine that has no weights: what needs gradients is left out. */
  learns: boolean;
  /**
   * "fixed" by default: a continuation has the same bits in every batch. "by-batch" for an engine whose sums are cut by the size of
   * the batch: tokens are the same and log-probabilities agree to 1e-4.
   */
  rounding?: "fixed" | "by-batch";
  /** Of the computation; "float32" by default. In "bfloat16" numbers agree to 3e-2, and what its rounding hides is skipped. */
  precision?: "float32" | "bfloat16";
  /** With "bfloat16": the same weights in float32. Gradients are compared with this engine's instead of finite differences. */
  makeExact?(): Promise<Engine>;
}

const knownEngineContractOptions: KnownOptions<EngineContractOptions> = {
  make: true,
  learns: true,
  rounding: true,
  precision: true,
  makeExact: true,
};

/** The promises of `Engine`. Call it from a test file of each engine. */
export function engineContract(name: string, options: EngineContractOptions): void {
  refuseUnknownOptions("engineContract", options, knownEngineContractOptions);
  describe(`${name} keeps the engine contract`, () => {
    const context = new ContractContext(mkdtempSync(join(tmpdir(), "ludus-contract-")), options);
    beforeAll(() => context.open());
    afterAll(async () => {
      await context.close();
      rmSync(context.folder, { recursive: true, force: true });
    });
    samplingContract(context);
    forwardContract(context);
    badInputContract(context);
    closingContract(context, options.learns);
    if (!options.learns) return;
    gradientContract(context);
    weightsContract(context);
  });
}
