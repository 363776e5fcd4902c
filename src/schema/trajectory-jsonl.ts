import { refuseUnknownOptions } from "../known-options.ts";
import {
  jsonLine,
  knownReadLinesOptions,
  type LineReader,
  type Lines,
  type ReadLinesOptions,
  readJsonLines,
} from "./json-lines.ts";
import type { Trajectory } from "./trajectory.ts";
import { trajectoryFromJson, trajectoryToJson } from "./trajectory-json.ts";

/** Trajectories from lines of JSON: `readTrajectoryJsonl(textLines(createReadStream(path)))`. */
export function readTrajectoryJsonl(lines: Lines, options?: Partial<ReadLinesOptions>): LineReader<Trajectory> {
  refuseUnknownOptions("readTrajectoryJsonl", options, knownReadLinesOptions);
  return readJsonLines(lines, trajectoryFromJson, options);
}

/** Lines, ends included: `pipeline(writeTrajectoryJsonl(trajectories), createWriteStream(path))`. */
export async function* writeTrajectoryJsonl(
  trajectories: AsyncIterable<Trajectory> | Iterable<Trajectory>,
): AsyncGenerator<string> {
  for await (const trajectory of trajectories) yield jsonLine(trajectoryToJson(trajectory));
}
