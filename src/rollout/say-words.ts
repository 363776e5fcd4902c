import type { Sample, SampleRequest } from "../engine/engine.ts";
import { LudusError } from "../errors.ts";
import { refuseUnknownOptions } from "../known-options.ts";
import { isInfrastructureStop } from "../schema/stop-reason.ts";
import type { Task } from "../schema/task.ts";
import type { Trajectory } from "../schema/trajectory.ts";
import { knownRolloutOptions, type Policy, type RolloutOptions } from "./rollout.ts";
import type { SayAgainPolicy } from "./say-again.ts";
import type { World } from "./world.ts";

/**
 * An attempt in which the role that begins says given words, one text for each turn; as if it had been sure of them. For attempts that somebody wrote or rewrote.
 * Undefined where the world did not take them: it went on when they had ended, another role had to speak, or it failed.
 */
export async function sayWords<Data>(
  world: World<Data>,
  task: Task<Data>,
  words: readonly string[],
  policy: SayAgainPolicy,
  options: Omit<RolloutOptions, "seed">,
): Promise<readonly Trajectory[] | undefined> {
  refuseUnknownOptions("sayWords", options, knownRolloutOptions);
  const left = [...words];
  const sample = async ({ rollout, maxTokens }: SampleRequest): Promise<Sample> => {
    const role = rollout?.slice(options.id.length + 1) ?? "";
    const next = role === world.roles[0] ? left.shift() : undefined;
    if (next === undefined) {
      throw new LudusError("nothing-said", { got: `a turn of ${role}`, expected: "no further turn" });
    }
    const all = policy.renderer.say(next);
    const tokens = all.slice(0, maxTokens);
    const [logprobs, versions] = [new Float32Array(tokens.length), new Int32Array(tokens.length)];
    return { tokens, logprobs, versions, stop: tokens.length === all.length ? "stop-token" : "max-tokens" };
  };
  const { info } = policy.engine;
  const speaker: Policy = { ...policy, engine: { info, sample, release: async () => {} } };
  const played = await (await world.attempt(task, speaker, { ...options, seed: 0 })).score();
  return isInfrastructureStop(played.stop) ? undefined : played.trajectories;
}
