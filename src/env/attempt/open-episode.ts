import { LudusError } from "../../errors.ts";
import type { Policy, RolloutOptions } from "../../rollout/rollout.ts";
import type { OpenAttempt } from "../../rollout/search/open-attempt.ts";
import { engineSpeaker } from "../../rollout/speaker.ts";
import { startGate } from "../../rollout/start-gate.ts";
import type { StopReason } from "../../schema/stop-reason.ts";
import type { Task } from "../../schema/task.ts";
import type { Env } from "../env.ts";
import type { Play } from "./play.ts";
import { type Begun, beginPlay, playedRollout, trajectoriesOf } from "./played-rollout.ts";

/** An attempt that is taken turn by turn from outside, and that can be copied: what search plays with. */
export async function openEpisode<Data, State>(
  env: Env<Data, State>,
  task: Task<Data>,
  policy: Policy,
  options: RolloutOptions,
): Promise<OpenAttempt<Data>> {
  await startGate();
  const begun = beginPlay(env, task, policy, options, engineSpeaker(policy, options));
  await begun.play.start();
  return openAttempt(env.roles, policy, begun, false);
}

function openAttempt<Data>(
  roles: readonly string[],
  policy: Policy,
  begun: Begun<Data>,
  isCopy: boolean,
): OpenAttempt<Data> {
  const { play, options, task } = begun;
  const end = () => {
    // not waited for, as after any attempt
    for (const role of roles) policy.engine.release({ rollout: `${options.id}/${role}` }).catch(() => {});
    return playedRollout(begun, isCopy);
  };
  let played: ReturnType<typeof end> | undefined;
  return {
    id: options.id,
    task,
    get stop() {
      return play.end?.stop;
    },
    get turns() {
      return play.episode.turns.length;
    },
    propose(seed) {
      if (play.end !== undefined) throw ended(options.id, play.end.stop);
      return play.speak(seed);
    },
    take(said) {
      if (play.end !== undefined) throw ended(options.id, play.end.stop);
      return play.hear(said);
    },
    annotate: (annotations) => play.episode.annotate(annotations),
    soFar: () => trajectoriesOf(begun, play.end ?? { stop: "cancelled" }),
    async copy({ id, seed }) {
      const own = { ...options, id, seed };
      const tokensOf = (mine: Play) => (role: string, stop: StopReason) =>
        trajectoriesOf({ ...begun, play: mine, options: own }, { stop }).filter((each) => each.role === role);
      const copy = await play.copy({ id, seed }, engineSpeaker(policy, own), tokensOf);
      return openAttempt(roles, policy, { ...begun, play: copy, options: own }, true);
    },
    fail(stop, failure) {
      play.end = { stop, failure };
    },
    played() {
      played ??= end();
      return played;
    },
  };
}

function ended(id: string, stop: string): LudusError {
  return new LudusError("attempt-ended", {
    got: `a turn of ${id}, which ended with ${stop}`,
    expected: "one that goes on",
  });
}
