import { LudusError } from "../errors.ts";
import type { CallRecord, Turn } from "../schema/turn.ts";
import { right, type VerifierVerdict, wrong } from "../scorer/verdict.ts";
import { type CallPattern, matches } from "../tool/permission/rules.ts";
import type { Reward } from "./reward.ts";
import { verified } from "./verified.ts";

/** A rule about calls that were made: those that a tool ran, whether it liked the arguments or not. */
export type PolicyRule =
  /** Such a call must not be made. */
  | { readonly never: CallPattern }
  /** Before such a call the other has to have succeeded. */
  | { readonly before: CallPattern; readonly first: CallPattern }
  /** Such calls may be made so many times. */
  | { readonly atMost: number; readonly of: CallPattern }
  /** What was read directly before such a call has to hold this word: the user's consent. */
  | { readonly confirm: CallPattern; readonly word: string }
  /** The policy must not say this; case does not count. */
  | { readonly neverSay: string };

/**
 * 1 where an episode keeps to every rule of a policy, else 0. Doing nothing keeps them too: put it together with what the task asks
 * for, as in `gated(keepsPolicy(() => rules), outcome)`.
 */
export function keepsPolicy<Data, State = unknown>(rules: (task: Data) => readonly PolicyRule[]): Reward<Data, State> {
  return verified(({ task, turns }) => checkPolicy(turns, rules(task)));
}

interface MadeCall extends CallRecord {
  /** What the policy read before the turn of the call. */
  readonly read: string;
}

const wasRun = ({ outcome }: CallRecord) => outcome === "ok" || outcome === "error";

export function checkPolicy(turns: readonly Turn[], rules: readonly PolicyRule[]): VerifierVerdict {
  const calls = turns.flatMap((turn, index): MadeCall[] => {
    const read = index === 0 ? "" : turns[index - 1].observation;
    return turn.calls.filter(wasRun).map((call) => ({ ...call, read }));
  });
  for (const [index, rule] of rules.entries()) {
    const problem = brokenBy(rule, calls, turns);
    if (problem !== undefined) return wrong(`rule ${index + 1}: ${problem}`);
  }
  return right;
}

function brokenBy(rule: PolicyRule, calls: readonly MadeCall[], turns: readonly Turn[]): string | undefined {
  const of = (pattern: CallPattern) => calls.filter(({ name, arguments: args }) => matches(pattern, name, args));
  if ("never" in rule) return of(rule.never)[0]?.name;
  if ("atMost" in rule) return of(rule.of).length > rule.atMost ? `${of(rule.of).length} calls` : undefined;
  if ("neverSay" in rule) {
    const phrase = rule.neverSay.toLowerCase();
    return turns.some(({ text }) => text.toLowerCase().includes(phrase)) ? `said "${rule.neverSay}"` : undefined;
  }
  if ("before" in rule) {
    const firsts = of(rule.first).filter(({ outcome }) => outcome === "ok");
    const from = firsts.length === 0 ? calls.length : calls.indexOf(firsts[0]);
    return of(rule.before).find((call) => calls.indexOf(call) <= from)?.name;
  }
  if ("confirm" in rule) return of(rule.confirm).find(({ read }) => !hasWord(read, rule.word))?.name;
  throw new LudusError("bad-policy", {
    got: `the rule ${JSON.stringify(rule)}`,
    expected: "one with never, before, atMost, confirm or neverSay",
  });
}

function hasWord(text: string, word: string): boolean {
  const words: readonly string[] = text.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? [];
  return words.includes(word.toLowerCase());
}
