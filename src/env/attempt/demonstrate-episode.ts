import { LudusError } from "../../errors.ts";
import { createRng, type Rng } from "../../random.ts";
import type { PlayedRollout, RenderContext } from "../../rollout/rollout.ts";
import { scriptedSpeaker } from "../../rollout/speaker.ts";
import type { DemonstrateOptions } from "../../rollout/world.ts";
import type { Task } from "../../schema/task.ts";
import type { Env } from "../env.ts";
import type { Episode } from "../episode.ts";
import { playEpisode } from "./attempt-episode.ts";

/** An attempt by the environment's expert; its words count as sampled, so that a policy can be trained to say them. */
export function demonstrateEpisode<Data, State>(
  env: Env<Data, State>,
  task: Task<Data>,
  renderContext: RenderContext,
  options: DemonstrateOptions,
): Promise<PlayedRollout<Data>> {
  const rng = createRng(options.seed);
  const { noise = 0 } = options;
  if (noise > 0 && env.actions === undefined) {
    throw new LudusError("option-without-effect", {
      got: `demonstrations of ${env.name} with noise ${noise}, which has no effect there: it does not list what may be said`,
      expected: "noise 0, or an environment with `actions`",
      hint: "Add `actions` to the environment: it returns what may be said now, or some of it drawn with the context's rng.",
    });
  }
  const speaker = scriptedSpeaker(renderContext.renderer, (episode: Episode) => nextWords(episode, rng, noise));
  return playEpisode(env, task, renderContext, options, speaker);
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
