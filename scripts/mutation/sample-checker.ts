import { type Checker, type CheckResult, CheckStatus } from "@stryker-mutator/api/check";
import type { Mutant } from "@stryker-mutator/api/core";
import { declareClassPlugin, PluginKind } from "@stryker-mutator/api/plugin";
import { hashText } from "../../src/task/seeds.ts";

/** The status reason of mutants that were left out. */
export const notSampled = "not sampled";

/** Whether a mutant is among the given share: the same ones every time, whatever else is mutated. */
export function isSampled(mutant: Pick<Mutant, "fileName" | "location" | "replacement">, share: number): boolean {
  const { start } = mutant.location;
  const file = mutant.fileName.slice(mutant.fileName.lastIndexOf("/src/"));
  return hashText(`${file}:${start.line}:${start.column} ${mutant.replacement}`) % 10_000 < share * 10_000;
}

/** Stryker cannot sample. A checker can reject a mutant before any test runs; scripts/mutation.ts leaves those out. */
class SampleChecker implements Checker {
  readonly #share = Number(process.env.LUDUS_MUTATION_SHARE ?? 1);

  async init(): Promise<void> {}

  async check(mutants: Mutant[]): Promise<Record<string, CheckResult>> {
    return Object.fromEntries(
      mutants.map((mutant): [string, CheckResult] => [
        mutant.id,
        isSampled(mutant, this.#share)
          ? { status: CheckStatus.Passed }
          : { status: CheckStatus.CompileError, reason: notSampled },
      ]),
    );
  }
}

export const strykerPlugins = [declareClassPlugin(PluginKind.Checker, "sample", SampleChecker)];
