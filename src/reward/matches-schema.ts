import { refuseUnknownOptions } from "../known-options.ts";
import { compileSchema } from "../scorer/json-schema.ts";
import { knownTextOptions, type TextOptions } from "./episode-text.ts";
import type { Reward } from "./reward.ts";
import { remembered, verified, wholeAnswer } from "./verified.ts";

/** 1 where the answer is JSON that fits the task's JSON Schema, else 0. Patterns in the schema are the task's own: they are run as RegExp. */
export function matchesSchema<Data, State = unknown>(
  schema: (task: Data) => Readonly<Record<string, unknown>>,
  options: Partial<TextOptions<Data, State>> = {},
): Reward<Data, State> {
  refuseUnknownOptions("matchesSchema", options, knownTextOptions);
  const { text = wholeAnswer } = options;
  const checkOf = remembered(compileSchema);
  return verified((episode) => checkOf(schema(episode.task))(text(episode)));
}
