import type { PlayedRollout, Policy, RenderContext, RolloutOptions } from "../../rollout/rollout.ts";
import { engineSpeaker, type Speaker } from "../../rollout/speaker.ts";
import { startGate } from "../../rollout/start-gate.ts";
import type { Task } from "../../schema/task.ts";
import type { Env } from "../env.ts";
import type { Episode } from "../episode.ts";
import { beginPlay, playedRollout } from "./played-rollout.ts";

/** An attempt of a policy, turn by turn. Never throws: whatever goes wrong is the rollout's stop reason. */
export async function attemptEpisode<Data, State>(
  env: Env<Data, State>,
  task: Task<Data>,
  policy: Policy,
  options: RolloutOptions,
): Promise<PlayedRollout<Data>> {
  try {
    return await playEpisode(env, task, policy, options, engineSpeaker(policy, options));
  } finally {
    for (const role of env.roles) {
      // not waited for: it may be queued behind others' sampling, and an engine that fails says so where it matters
      policy.engine.release({ rollout: `${options.id}/${role}` }).catch(() => {});
    }
  }
}

/** The same with any speaker: experts, people, scripts. */
export async function playEpisode<Data, State>(
  env: Env<Data, State>,
  task: Task<Data>,
  renderContext: RenderContext,
  options: RolloutOptions,
  speaker: Speaker<Episode>,
): Promise<PlayedRollout<Data>> {
  await startGate();
  const begun = beginPlay(env, task, renderContext, options, speaker);
  await begun.play.run();
  return playedRollout(begun);
}
