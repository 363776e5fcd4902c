import { describe, expect, test } from "vitest";
import { type KnownOptions, refuseUnknownOptions } from "../known-options.ts";
import { callTool } from "./call-tool.ts";
import { fakeContext } from "./fake-context.ts";
import type { Tool } from "./tool.ts";

export interface ToolExamples<State> {
  /** The state that `right` is run with, made anew each time. */
  state: () => State;
  /** Arguments that give an observation. */
  right: Readonly<Record<string, unknown>>;
  /** Arguments that the policy must be told are wrong, each with the words that name the mistake. */
  wrong: readonly (readonly [args: Readonly<Record<string, unknown>>, says: string | RegExp])[];
  limits?: { toolMs: number; observationChars: number };
}

const knownToolExamples: KnownOptions<ToolExamples<unknown>> = { state: true, right: true, wrong: true, limits: true };

/** What every tool owes the policy and the rollout. */
export function toolContract<State>(
  name: string,
  makeTool: () => Tool<State> | Promise<Tool<State>>,
  examples: ToolExamples<State>,
): void {
  refuseUnknownOptions("toolContract", examples, knownToolExamples);
  const { state, right, wrong, limits = { toolMs: 5_000, observationChars: 10_000 } } = examples;
  const call = async (args: Readonly<Record<string, unknown>>, signal?: AbortSignal) =>
    callTool({ it: await makeTool() }, { name: "it", arguments: args }, fakeContext(state(), signal), limits);

  describe(`tool ${name}`, () => {
    test("is described to models as an object of arguments, in JSON", async () => {
      const { spec } = await makeTool();
      expect(spec.parameters).toMatchObject({ type: "object" });
      expect(JSON.parse(JSON.stringify(spec))).toEqual(spec);
      expect(spec.parameters).not.toHaveProperty("$schema");
    });

    test("answers right arguments", async () => {
      expect(await call(right)).toMatchObject({ kind: "observed", record: { outcome: "ok" } });
    });

    test.each(wrong)("says what is wrong with %j", async (args, says) => {
      const result = await call(args);
      expect(result).toMatchObject({ kind: "observed" });
      if (result.kind !== "observed") return;
      expect(["bad-arguments", "error"]).toContain(result.record.outcome);
      expect(result.record.observation).toMatch(says);
    });

    test("ends when the rollout is cancelled, and not later", async () => {
      const controller = new AbortController();
      const pending = call(right, controller.signal);
      controller.abort();
      // one that answers at once may have done so before
      const result = await pending;
      if (result.kind === "stopped") expect(result.stop).toBe("cancelled");
      expect(await call(right, AbortSignal.abort())).toMatchObject({ kind: "stopped", stop: "cancelled" });
    });
  });
}
