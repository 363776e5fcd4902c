import type { Task } from "../../../schema/task.ts";
import type { Env } from "../../env.ts";
import { Episode, type EpisodeResult } from "../../episode.ts";

export interface Played extends EpisodeResult {
  /** What the policy read before each of its turns. */
  readonly heard: readonly string[];
}

/** Plays a task with given texts, or with the environment's expert; ends early when there is nothing more to say. */
export async function playEpisode<Data, State>(
  env: Env<Data, State>,
  task: Task<Data>,
  says: readonly string[] | "expert",
): Promise<Played> {
  const episode = new Episode(env, task, { signal: new AbortController().signal });
  const heard: string[] = [];
  let next = await episode.start();
  while ("role" in next) {
    heard.push(next.messages.map(({ content }) => content).join("\n"));
    const said = says === "expert" ? episode.expertSays() : says[heard.length - 1];
    next = said === undefined ? { stop: "max-turns" } : await episode.step(said);
  }
  return { ...(await episode.finish(next)), heard };
}
