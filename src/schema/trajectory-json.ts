import { z } from "zod";
import type { TurnAnnotationsJson } from "./annotations.ts";
import { currentTrajectoryForm } from "./earlier-forms.ts";
import { type JsonReal, jsonReal } from "./json-real.ts";
import { isJsonObject, parseWith } from "./parse-with.ts";
import type { Score } from "./score.ts";
import { makeTrajectory, type Trajectory } from "./trajectory.ts";
import { TrajectoryFields, turnToJson } from "./trajectory-fields.ts";
import type { Turn } from "./turn.ts";

type PerToken = "tokens_T" | "mask_T" | "logprobs_T" | "versions_T";

/** A trajectory as JSON holds it: plain arrays, and numbers that JSON lacks as strings. */
export interface TrajectoryJson extends Omit<Trajectory, PerToken | "turns" | "score" | "temperature"> {
  readonly tokens_T: readonly number[];
  readonly mask_T: readonly number[];
  readonly logprobs_T: readonly number[];
  readonly versions_T: readonly number[];
  readonly turns: readonly TurnJson[];
  readonly score: Omit<Score, "total" | "parts"> & {
    readonly total: JsonReal;
    readonly parts: Readonly<Record<string, JsonReal>>;
  };
  readonly temperature: JsonReal;
}

export interface TurnJson extends Omit<Turn, "reward" | "annotations"> {
  readonly reward: JsonReal;
  readonly annotations?: TurnAnnotationsJson;
}

const Json = TrajectoryFields.extend({
  tokens_T: z.array(z.int32()),
  mask_T: z.array(z.int().min(0).max(1)),
  logprobs_T: z.array(z.number()),
  versions_T: z.array(z.int32()),
});

/** For people, viewers and other programs. Written as text and read again, a log-probability of -0 becomes 0. */
export function trajectoryToJson(trajectory: Trajectory): TrajectoryJson {
  const { turns, score, temperature, tokens_T, mask_T, logprobs_T, versions_T, ...rest } = trajectory;
  const parts = Object.entries(score.parts).map(([name, part]) => [name, jsonReal(part)] as const);
  return {
    ...rest,
    temperature: jsonReal(temperature),
    score: { ...score, total: jsonReal(score.total), parts: Object.fromEntries(parts) },
    turns: turns.map((turn) => ({ ...turnToJson(turn), reward: jsonReal(turn.reward) })),
    tokens_T: Array.from(tokens_T),
    mask_T: Array.from(mask_T),
    logprobs_T: Array.from(logprobs_T),
    versions_T: Array.from(versions_T),
  };
}

/** Reads what `trajectoryToJson` made. Throws a `bad-trajectory` that names the field which does not fit. */
export function trajectoryFromJson(value: unknown): Trajectory {
  const named = isJsonObject(value) && typeof value.id === "string" ? `trajectory ${value.id}` : "a trajectory";
  const json = parseWith(Json, currentTrajectoryForm(value), named, "bad-trajectory");
  return makeTrajectory({
    ...json,
    tokens_T: Int32Array.from(json.tokens_T),
    mask_T: Uint8Array.from(json.mask_T),
    logprobs_T: Float32Array.from(json.logprobs_T),
    versions_T: Int32Array.from(json.versions_T),
  });
}
