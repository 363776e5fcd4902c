import { defined } from "../../defined.ts";
import { policyWeights } from "../../engine/engine.ts";
import { DeadlineSignal } from "../../rollout/deadline-signal.ts";
import type { PlayedRollout, RenderContext, Rollout, RolloutOptions } from "../../rollout/rollout.ts";
import { type Speaker, truncationOf } from "../../rollout/speaker.ts";
import type { StopReason } from "../../schema/stop-reason.ts";
import type { Task } from "../../schema/task.ts";
import type { Trajectory } from "../../schema/trajectory.ts";
import type { Env } from "../env.ts";
import { Episode, type EpisodeEnd } from "../episode.ts";
import { Play } from "./play.ts";

/** An attempt in progress: the play, and what scoring it needs. */
export interface Begun<Data> {
  readonly task: Task<Data>;
  readonly options: RolloutOptions;
  readonly renderContext: RenderContext;
  readonly play: Play;
  readonly deadline: DeadlineSignal;
  readonly started: number;
}

export function beginPlay<Data, State>(
  env: Env<Data, State>,
  task: Task<Data>,
  renderContext: RenderContext,
  options: RolloutOptions,
  speaker: Speaker<Episode>,
): Begun<Data> {
  const started = performance.now();
  const limits = { ...env.limits, ...options.limits };
  const format = options.format ?? env.format;
  const deadline = new DeadlineSignal(limits.episodeMs, options.signal);
  const { signal } = deadline;
  const sampled = new Map<string, number>();
  const { sandbox, training } = options;
  const sampledTokens = (role: string) => sampled.get(role) ?? 0;
  const tokensOf = (role: string, stop: StopReason) =>
    trajectoriesOf({ task, options, renderContext, play }, { stop }).filter((each) => each.role === role);
  const fixed = { signal, limits, format, sampledTokens, tokensOf };
  const episode = new Episode(env, task, { ...fixed, ...defined({ sandbox, training }) });
  const playOptions = { ...options, format, limits, signal, sampled, ...defined({ hint: task.annotations?.hint }) };
  const play: Play = new Play(episode as Episode, renderContext, playOptions, speaker);
  return { task, options, renderContext, play, deadline, started };
}

/** A play that has ended, to be scored. A copy does not end the deadline, which is that of the attempt it was copied from. */
export function playedRollout<Data>(begun: Begun<Data>, isCopy = false): PlayedRollout<Data> {
  const { task, options, play, deadline, started } = begun;
  const played = play.end ?? { stop: "cancelled" };
  const score = async (): Promise<Rollout<Data>> => {
    // the deadline holds for scoring too
    const finished = play.episode.finish(played);
    const { turns, scores, ...end } = await (isCopy ? finished : finished.finally(() => deadline.clear()));
    const { stop, failure } = end.stop === "cancelled" && deadline.isTimeUp ? timeIsUp : end;
    const trajectories = trajectoriesOf(begun, { stop, ...defined({ failure }) }, turns, scores);
    const timing = { sampleMs: play.sampleMs, totalMs: performance.now() - started, turns: play.turnsSince(started) };
    return { id: options.id, task, trajectories, stop, timing, ...defined({ failure }) };
  };
  let scored: Promise<Rollout<Data>> | undefined;
  return {
    id: options.id,
    task,
    stop: played.stop,
    score() {
      scored ??= score();
      return scored;
    },
  };
}

const noScore: Trajectory["score"] = { total: 0, parts: {}, success: false };

/** The tokens so far, by role. */
export function trajectoriesOf<Data>(
  { task, options, renderContext, play }: Pick<Begun<Data>, "task" | "options" | "renderContext" | "play">,
  { stop, failure }: EpisodeEnd,
  turns = play.episode.turns,
  scores: Readonly<Record<string, Trajectory["score"]>> = {},
): Trajectory[] {
  const common = {
    rollout: options.id,
    taskId: task.id,
    stop,
    temperature: options.temperature ?? 1,
    ...defined({ failure, domain: task.domain, truncation: truncationOf(options) }),
  };
  return [...play.conversations].flatMap(([role, conversation]) => {
    const weights = renderContext.weights?.[role] ?? policyWeights;
    return conversation.trajectories({ ...common, role, weights, score: scores[role] ?? noScore }, turns);
  });
}

const timeIsUp: EpisodeEnd = { stop: "episode-timeout", failure: "the episode took longer than limits.episodeMs" };
