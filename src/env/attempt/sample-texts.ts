import { LudusError } from "../../errors.ts";
import { createRng } from "../../random.ts";
import type { Opening } from "../../rollout/world.ts";
import type { Task } from "../../schema/task.ts";
import { seedOf } from "../../task/seeds.ts";
import type { Env } from "../env.ts";
import { Episode } from "../episode.ts";

// far from the tasks that training and demonstrations begin with
const firstSample = 2_000_000;

/** What is read and said in some episodes: every other one is the expert's, the rest are random players'. */
export async function sampleTexts<Data, State>(
  env: Env<Data, State>,
  episodes: number,
  seed: number,
): Promise<string[][]> {
  const rng = createRng(seedOf(seed, "sample-play", 0));
  const plays: string[][] = [];
  for (let index = 0; index < episodes; index++) {
    const episode = new Episode(env, await env.tasks.at("train", firstSample + index), { signal: neverAborted });
    const texts: string[] = [];
    let next = await episode.start();
    while ("role" in next) {
      texts.push(...next.messages.map(({ content }) => content));
      const choices = episode.possibleTexts();
      const random = choices.length > 0 ? choices[rng.integer(choices.length)] : undefined;
      const words = (index % 2 === 0 ? episode.expertSays() : random) ?? random ?? episode.expertSays() ?? "";
      texts.push(words);
      next = await episode.step(words);
    }
    await episode.finish(next);
    plays.push(texts);
  }
  return plays;
}

/** What the first role reads before it speaks. An episode is started to find out, and closed unscored. */
export async function openingOf<Data, State>(env: Env<Data, State>, task: Task<Data>): Promise<Opening> {
  const episode = new Episode(env, task, { signal: neverAborted });
  const move = await episode.start();
  await episode.finish({ stop: "cancelled" });
  if ("role" in move) return { messages: move.messages, tools: episode.tools };
  throw new LudusError("env-failed", {
    got: `${move.stop} at the start of ${task.id}: ${move.failure ?? ""}`,
    expected: `the environment ${env.name} to start`,
  });
}

const neverAborted = new AbortController().signal;
