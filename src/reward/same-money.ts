import { LudusError } from "../errors.ts";
import { refuseUnknownOptions } from "../known-options.ts";
import { checkMoney, type Money, parseMoney } from "../scorer/money.ts";
import { knownTextOptions, type TextOptions } from "./episode-text.ts";
import type { Reward } from "./reward.ts";
import { verified, wholeAnswer } from "./verified.ts";

/** 1 where the answer is the gold amount in the gold currency, in any usual spelling, to the last cent, else 0. `$` is USD, `¥` JPY. */
export function sameMoney<Data, State = unknown>(
  gold: (task: Data) => string,
  options: Partial<TextOptions<Data, State>> = {},
): Reward<Data, State> {
  refuseUnknownOptions("sameMoney", options, knownTextOptions);
  const { text = wholeAnswer } = options;
  return verified((episode) => checkMoney(text(episode), goldMoney(gold(episode.task))));
}

function goldMoney(text: string): Money {
  const gold = parseMoney(text);
  if (gold !== undefined) return gold;
  throw new LudusError("bad-task", {
    got: `the amount ${JSON.stringify(text)}`,
    expected: "an amount with a currency, such as 12.50 EUR",
  });
}
