import type { Env } from "../env/env.ts";
import type { Episode } from "../env/episode.ts";
import { createRng, type Rng } from "../random.ts";
import type { Task } from "../schema/task.ts";
import type { RenderContext, Rollout, RolloutOptions } from "./rollout.ts";
import { runTurns } from "./run-rollout.ts";
import { runsItself } from "./self-run.ts";
import { scriptedSpeaker } from "./speaker.ts";

export interface DemonstrateOptions extends RolloutOptions {
  /** How often something that may be said, at random, is said instead of what the expert says: 0 to 1, 0 by default. */
  noise?: number;
}

/** An attempt by the environment's expert; its words count as sampled, so that a policy can be trained to say them. */
export function demonstrate<Data, State>(
  env: Env<Data, State>,
  task: Task<Data>,
  renderContext: RenderContext,
  options: DemonstrateOptions,
): Promise<Rollout<Data>> {
  if (runsItself(env)) return env.demonstrate(task, renderContext, options);
  const rng = createRng(options.seed);
  const { noise = 0 } = options;
  return runTurns(
    env,
    task,
    renderContext,
    options,
    scriptedSpeaker(renderContext.renderer, (episode) => nextWords(episode, rng, noise)),
  );
}

function nextWords(episode: Episode, rng: Rng, noise: number): string {
  const isNoisy = rng.next() < noise;
  const choices = isNoisy ? episode.possibleTexts() : [];
  if (choices.length > 0) return choices[rng.integer(choices.length)];
  const words = episode.expertSays();
  if (words !== undefined) return words;
  // an expert that is stuck says something that may be said, so that the episode goes on to its limits
  const fallback = episode.possibleTexts();
  return fallback.length > 0 ? fallback[rng.integer(fallback.length)] : "";
}
