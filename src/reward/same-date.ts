import { LudusError } from "../errors.ts";
import { type KnownOptions, refuseOtherValue, refuseUnknownOptions } from "../known-options.ts";
import { checkDate, type DateOrder, parseDate } from "../scorer/calendar-date.ts";
import type { TextOptions } from "./episode-text.ts";
import type { Reward } from "./reward.ts";
import { verified, wholeAnswer } from "./verified.ts";

export interface SameDateOptions<Data, State> extends TextOptions<Data, State> {
  /** How `3/4/2024` is read. Without it such an answer is wrong, as it is one of two dates. */
  order: DateOrder;
}

const knownSameDateOptions: KnownOptions<SameDateOptions<unknown, unknown>> = { text: true, order: true };

/** 1 where the answer is the gold date (`2024-03-31`), in any usual spelling, else 0. */
export function sameDate<Data, State = unknown>(
  gold: (task: Data) => string,
  options: Partial<SameDateOptions<Data, State>> = {},
): Reward<Data, State> {
  refuseUnknownOptions("sameDate", options, knownSameDateOptions);
  const { text = wholeAnswer, order } = options;
  if (order !== undefined) refuseOtherValue("order of sameDate", order, ["day-first", "month-first"]);
  return verified((episode) => checkDate(text(episode), goldDate(gold(episode.task)), order));
}

function goldDate(text: string): string {
  if (parseDate(text) === text) return text;
  throw new LudusError("bad-task", { got: `the date ${JSON.stringify(text)}`, expected: "one such as 2024-03-31" });
}
