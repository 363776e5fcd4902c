import type { Sample, SampleRequest } from "../engine/engine.ts";
import { LudusError } from "../errors.ts";
import { refuseUnknownOptions } from "../known-options.ts";
import { isInfrastructureStop } from "../schema/stop-reason.ts";
import type { Task } from "../schema/task.ts";
import { makeTrajectory, type Trajectory } from "../schema/trajectory.ts";
import { knownRolloutOptions, type Policy, type RolloutOptions } from "./rollout.ts";
import type { World } from "./world.ts";

/** How messages become tokens, and whose they are: what is said comes from an earlier attempt. */
export type SayAgainPolicy = Pick<Policy, "renderer" | "tokenizer" | "weights"> & {
  readonly engine: Pick<Policy["engine"], "info">;
};

interface Said {
  readonly from: Trajectory;
  readonly tokens: Int32Array;
  readonly logprobs: Float32Array;
  readonly versions: Int32Array;
  readonly mask: Uint8Array;
}

/**
 * An earlier attempt as one at another task: the world is played with the tokens that were sampled then, so prompts, observations and
 * the score are those of the new task. Log-probabilities stay those of sampling, which are of other prompts than these.
 *
 *     const relabelled = await sayAgain(world, { ...task, id: "…", data: reached }, attempt, policy, { id: "…" });
 *
 * Undefined where the world did not take the same words: it went on when they had ended, failed, or sampled elsewhere.
 */
export async function sayAgain<Data>(
  world: World<Data>,
  task: Task<Data>,
  attempt: readonly Trajectory[],
  policy: SayAgainPolicy,
  options: Omit<RolloutOptions, "seed">,
): Promise<readonly Trajectory[] | undefined> {
  refuseUnknownOptions("sayAgain", options, knownRolloutOptions);
  const said = new Map([...Map.groupBy(attempt, ({ role }) => role)].map(([role, own]) => [role, own.flatMap(saidIn)]));
  const left = new Map([...said].map(([role, turns]) => [role, [...turns]]));
  const sample = async (request: SampleRequest): Promise<Sample> => {
    const role = request.rollout?.slice(options.id.length + 1) ?? "";
    const next = left.get(role)?.shift();
    if (next === undefined)
      throw new LudusError("nothing-said", { got: `a turn of ${role}`, expected: "no further turn" });
    const { tokens, logprobs } = next;
    // tokens that were forced have no version
    const versions = next.versions.map((version) => Math.max(0, version));
    return { tokens, logprobs, versions, stop: stopOf(tokens, request, policy) };
  };
  const { info } = policy.engine;
  const speaker: Policy = { ...policy, engine: { info, sample, release: async () => {} } };
  const played = await (await world.attempt(task, speaker, { ...options, seed: 0 })).score();
  if (isInfrastructureStop(played.stop)) return undefined;
  const spoken = new Map([...said].map(([role, turns]) => [role, turns.values()]));
  const again = played.trajectories.map((trajectory) => asSampled(trajectory, spoken.get(trajectory.role)));
  return again.every((trajectory) => trajectory !== undefined) ? again : undefined;
}

function saidIn(from: Trajectory): Said[] {
  const { tokens_T, logprobs_T, versions_T, mask_T, turns } = from;
  return turns.map(({ span: { start, end } }) => ({
    from,
    tokens: tokens_T.slice(start, end),
    logprobs: logprobs_T.slice(start, end),
    versions: versions_T.slice(start, end),
    mask: mask_T.slice(start, end),
  }));
}

function stopOf(tokens: Int32Array, request: SampleRequest, { renderer }: SayAgainPolicy): Sample["stop"] {
  if (renderer.stopTokens.includes(tokens.at(-1)!)) return "stop-token";
  const text = renderer.read(tokens);
  return request.stopStrings?.some((each) => text.includes(each)) ? "stop-string" : "max-tokens";
}

/** With the mask, log-probabilities, versions and temperature of sampling; undefined where other tokens were said. */
function asSampled(trajectory: Trajectory, spoken: Iterator<Said> | undefined): Trajectory | undefined {
  const columns = {
    mask_T: trajectory.mask_T.slice(),
    logprobs_T: trajectory.logprobs_T.slice(),
    versions_T: trajectory.versions_T.slice(),
  };
  let from: Trajectory | undefined;
  for (const { span } of trajectory.turns) {
    const next = spoken?.next();
    if (next === undefined || next.done === true) return undefined;
    const { tokens, mask, logprobs, versions } = next.value;
    if (!sameTokens(tokens, trajectory.tokens_T.subarray(span.start, span.end))) return undefined;
    columns.mask_T.set(mask, span.start);
    columns.logprobs_T.set(logprobs, span.start);
    columns.versions_T.set(versions, span.start);
    from = next.value.from;
  }
  if (from === undefined) return undefined;
  const { truncation: _own, ...rest } = trajectory;
  const { temperature, truncation } = from;
  return makeTrajectory({ ...rest, ...columns, temperature, ...(truncation === undefined ? {} : { truncation }) });
}

function sameTokens(a: Int32Array, b: Int32Array): boolean {
  return a.length === b.length && a.every((token, i) => token === b[i]);
}
