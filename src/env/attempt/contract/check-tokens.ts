import { expect } from "vitest";
import type { Trajectory } from "../../../schema/trajectory.ts";
import type { ScriptedEngine } from "./scripted-engine.ts";

/**
 * What must hold of the trajectories of one role, whatever was said and whatever of the past it saw: each answer of the engine
 * stands once, token by token, behind the very prompt it was sampled from, and nothing else is learned from.
 */
export function checkTokens(trajectories: readonly Trajectory[], samples: ScriptedEngine["samples"]): void {
  const open = [...samples];
  let weight = 0;
  for (const trajectory of trajectories) {
    weight += trajectory.weight;
    const { tokens_T, mask_T, logprobs_T, versions_T, turns } = trajectory;
    const expected = {
      mask: new Uint8Array(tokens_T.length),
      logprobs: new Float32Array(tokens_T.length),
      versions: new Int32Array(tokens_T.length).fill(-1),
    };
    for (const { span } of turns) {
      const { request, sample } = open.shift()!;
      const start = request.tokens.length;
      // what was forced is in the turn and in the prompt
      expect(span.start).toBeLessThanOrEqual(start);
      expect(span.end).toBe(start + sample.tokens.length);
      expect(tokens_T.slice(0, start)).toEqual(Int32Array.from(request.tokens));
      expect(tokens_T.slice(start, span.end)).toEqual(sample.tokens);
      expected.mask.fill(1, start, span.end);
      expected.logprobs.set(sample.logprobs, start);
      expected.versions.set(sample.versions, start);
    }
    expect(mask_T).toEqual(expected.mask);
    expect(logprobs_T).toEqual(expected.logprobs);
    expect(versions_T).toEqual(expected.versions);
  }
  expect(open).toEqual([]);
  if (samples.length > 0) expect(weight).toBeCloseTo(1, 9);
}

/** Under `fullContext` there is one trajectory, and every prompt goes on from the last one and what was sampled. */
export function checkPromptsGrow(samples: ScriptedEngine["samples"]): void {
  for (const [k, { request }] of samples.entries()) {
    const last = samples[k - 1];
    if (last === undefined) continue;
    const before = Int32Array.of(...last.request.tokens, ...last.sample.tokens);
    expect(Int32Array.from(request.tokens).slice(0, before.length)).toEqual(before);
  }
}
