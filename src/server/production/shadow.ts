import { errorText, LudusError } from "../../errors.ts";
import { type Interval, meanInterval, pairedDifference } from "../../eval/index.ts";
import { type KnownOptions, refuseUnknownOptions } from "../../known-options.ts";
import type { Said } from "../../policy/call-format.ts";
import { mean } from "../../statistics.ts";
import type { RunReader, StoredTrajectory, TrajectoryFilter } from "../../store/index.ts";
import { seedOf } from "../../task/seeds.ts";
import type { ServedModel } from "../model/served-model.ts";

/** A turn of recorded traffic with an answer to it. */
export interface ShadowAnswer {
  /** What was read before it, control tokens included. */
  readonly read: string;
  readonly text: string;
  /** The same in parts: calls and answer. */
  readonly said: Said;
  /** Whether it was given to the user then, or is the candidate's. */
  readonly by: "recorded" | "candidate";
  /** Of the episode. */
  readonly turn: number;
  readonly episode: string;
}

export interface ShadowOptions {
  traffic: RunReader;
  candidate: ServedModel;
  /** How good an answer is: a check or a judge. The same function for both, so it must not look at who answered. */
  score: (answer: ShadowAnswer) => number | Promise<number>;
  filter?: TrajectoryFilter;
  /** The newest so many; 200 by default. */
  episodes?: number;
  /** 0, the most likely answer, by default. */
  temperature?: number;
  /** Of an answer; 256 by default. */
  maxTokens?: number;
  seed?: number;
  /** Fewer episodes than this never promote; 30 by default. */
  leastEpisodes?: number;
  signal?: AbortSignal;
}

const known: KnownOptions<ShadowOptions> = {
  traffic: true,
  candidate: true,
  score: true,
  filter: true,
  episodes: true,
  temperature: true,
  maxTokens: true,
  seed: true,
  leastEpisodes: true,
  signal: true,
};

export interface ShadowReport {
  readonly episodes: number;
  readonly turns: number;
  readonly recorded: Interval;
  readonly candidate: Interval;
  /** The candidate's score minus the recorded one's, over episodes; 95 %. */
  readonly difference: Interval;
  /** The share of turns with the very same text. */
  readonly same: number;
  /** Episodes that could not be compared, and why; in no figure but this one. */
  readonly failures: readonly { readonly episode: string; readonly problem: string }[];
  /** `promote` where all of the interval is above 0, `reject` where all of it is below, else `undecided`. */
  readonly verdict: "promote" | "reject" | "undecided";
}

/**
 * Lets a candidate answer what users said to the model that was deployed, turn by turn and without their noticing, and compares both
 * answers. After the first turn it reads what followed the recorded answers, not its own.
 */
export async function shadowEvaluate(options: ShadowOptions): Promise<ShadowReport> {
  refuseUnknownOptions("shadowEvaluate", options, known);
  const { traffic, filter = {}, episodes = 200, leastEpisodes = 30, signal } = options;
  const { trajectories } = await traffic.trajectories(filter, { order: "newest", limit: episodes });
  if (trajectories.length === 0) {
    const hint = "Were episodes kept, and does the filter name their split?";
    throw new LudusError("no-traffic", { got: "no recorded episode", expected: "at least one", hint });
  }
  const compared: Compared[] = [];
  const failures: { episode: string; problem: string }[] = [];
  // a context that was trimmed makes several trajectories of an episode: they are one observation, not several
  for (const [episode, parts] of Map.groupBy(trajectories, ({ rollout }) => rollout)) {
    signal?.throwIfAborted();
    const whole: Compared = { recorded: [], candidate: [], same: [] };
    try {
      for (const { key } of parts) add(whole, await compareTurns(await traffic.trajectory(key), options));
      if (whole.recorded.length === 0) throw new LudusError("no-turns", { got: "no turn", expected: "at least one" });
      compared.push(whole);
    } catch (error) {
      signal?.throwIfAborted();
      if (error instanceof LudusError && error.code === "other-tokenizer") throw error;
      failures.push({ episode, problem: errorText(error) });
    }
  }
  if (compared.length === 0) {
    const got = `${failures.length} episodes that could not be compared: ${failures[0].problem}`;
    throw new LudusError("shadow-failed", { got, expected: "at least one that can" });
  }
  const recorded_P = compared.map(({ recorded }) => mean(recorded));
  const candidate_P = compared.map(({ candidate }) => mean(candidate));
  const difference = pairedDifference(recorded_P, candidate_P);
  const isEnough = compared.length >= leastEpisodes;
  return {
    episodes: compared.length,
    turns: compared.reduce((sum, { recorded }) => sum + recorded.length, 0),
    recorded: meanInterval(recorded_P),
    candidate: meanInterval(candidate_P),
    difference,
    same: mean(compared.flatMap(({ same }) => same)),
    failures,
    verdict: isEnough && difference.low > 0 ? "promote" : isEnough && difference.high < 0 ? "reject" : "undecided",
  };
}

interface Compared {
  readonly recorded: number[];
  readonly candidate: number[];
  readonly same: number[];
}

function add(whole: Compared, part: Compared): void {
  whole.recorded.push(...part.recorded);
  whole.candidate.push(...part.candidate);
  whole.same.push(...part.same);
}

async function compareTurns({ trajectory, summary }: StoredTrajectory, options: ShadowOptions): Promise<Compared> {
  const { candidate: model, score, temperature = 0, maxTokens = 256, seed = 0, signal } = options;
  const compared: Compared = { recorded: [], candidate: [], same: [] };
  const { tokens_T, turns } = trajectory;
  const last = tokens_T.reduce((most, token) => Math.max(most, token), 0);
  if (last >= model.tokenizer.vocabularySize) {
    throw new LudusError("other-tokenizer", {
      got: `token ${last} in ${trajectory.id}`,
      expected: `tokens of the candidate's vocabulary of ${model.tokenizer.vocabularySize}`,
      hint: "A candidate is a later checkpoint of the model that was recorded.",
    });
  }
  for (const [turn, { span }] of turns.entries()) {
    const tokens = tokens_T.subarray(0, span.start);
    const sample = await model.engine.sample(
      {
        tokens,
        maxTokens: Math.min(maxTokens, model.engine.info.contextLength - tokens.length),
        temperature,
        seed: seedOf(seed, trajectory.id, turn),
        stopTokens: model.renderer.stopTokens,
        ...(model.format.stopStrings.length === 0 ? {} : { stopStrings: model.format.stopStrings }),
      },
      signal,
    );
    const read = model.tokenizer.decode(tokens, { special: true });
    const answered = async (spoken: Int32Array, by: ShadowAnswer["by"]) => {
      const text = model.tokenizer.decode(spoken);
      const answer = { read, text, said: model.format.parse(text), by, turn, episode: summary.rollout };
      const value = await score(answer);
      if (Number.isFinite(value)) return { text, value };
      throw new LudusError("bad-score", { got: `${value} from score`, expected: "a finite number" });
    };
    const before = await answered(tokens_T.subarray(span.start, span.end), "recorded");
    const after = await answered(sample.tokens, "candidate");
    compared.recorded.push(before.value);
    compared.candidate.push(after.value);
    compared.same.push(before.text === after.text ? 1 : 0);
  }
  return compared;
}
