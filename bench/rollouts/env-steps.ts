import { shippedEnvironments } from "../../src/env/attempt/contract/shipped-environments.ts";
import type { Env } from "../../src/env/env.ts";
import { Episode } from "../../src/env/episode.ts";
import { createRng, type Rng } from "../../src/random.ts";

export interface EnvSteps {
  name: string;
  /** Turns taken in a second of `start`, `step` and `finish`; making tasks and thinking of what to say is not counted. */
  stepsPerSecond: number;
  steps: number;
  episodes: number;
}

const warmUpEpisodes = 5;

/** Plays at random where an environment lists what may be said, and as its expert otherwise. */
export async function measureEnvSteps(seconds: number, signal: AbortSignal): Promise<EnvSteps[]> {
  const measured: EnvSteps[] = [];
  for (const [name, env] of await shippedEnvironments()) {
    const rng = createRng(1);
    let [steps, milliseconds, episodes] = [0, 0, 0];
    const until = performance.now() + seconds * 1000;
    while (episodes <= warmUpEpisodes || performance.now() < until) {
      signal.throwIfAborted();
      const played = await playOnce(env, episodes, rng, signal);
      if (++episodes <= warmUpEpisodes) continue;
      steps += played.steps;
      milliseconds += played.milliseconds;
    }
    measured.push({ name, stepsPerSecond: (steps / milliseconds) * 1000, steps, episodes: episodes - warmUpEpisodes });
  }
  return measured;
}

async function playOnce(env: Env, index: number, rng: Rng, signal: AbortSignal) {
  const task = await env.tasks.at("train", index);
  let milliseconds = 0;
  const timed = async <Value>(work: () => Promise<Value>): Promise<Value> => {
    const before = performance.now();
    const value = await work();
    milliseconds += performance.now() - before;
    return value;
  };
  const episode = new Episode(env, task, { signal });
  let next = await timed(() => episode.start());
  while ("role" in next) {
    const choices = episode.possibleTexts();
    const text = choices.length > 0 ? choices[rng.integer(choices.length)] : (episode.expertSays() ?? "");
    next = await timed(() => episode.step(text));
  }
  const end = next;
  const { stop, turns, failure } = await timed(() => episode.finish(end));
  if (failure !== undefined) throw new Error(`${env.name} ended with ${stop}: ${failure}`);
  return { steps: turns.length, milliseconds };
}
