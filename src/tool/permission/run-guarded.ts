import { defined } from "../../defined.ts";
import { errorText } from "../../errors.ts";
import type { CallPermission } from "../../schema/turn.ts";
import { type Ended, lazySignal, runWithin } from "../run-within.ts";
import type { ToolContext } from "../tool.ts";
import { type CallFacts, cancelled, type Told, told, type Verdict } from "../verdict.ts";
import type { GuardedCall, ToolGuard } from "./guard.ts";

interface GuardedRun<State> {
  readonly args: Readonly<Record<string, unknown>>;
  readonly value: unknown;
  readonly context: ToolContext<State>;
  readonly facts: CallFacts;
  run(value: unknown): Promise<Verdict>;
}

/** Makes a call if every guard allows it, and tells the policy what was decided. */
export async function runGuarded<State>(guards: readonly ToolGuard<State>[], run: GuardedRun<State>): Promise<Verdict> {
  const { facts, context } = run;
  const { name: tool, signal } = facts;
  const { state } = context;
  let call: GuardedCall<State> = { tool, arguments: run.args, value: run.value, state, signal };
  let permission: CallPermission | undefined;
  for (const guard of guards) {
    const ended = await within(facts, (own) => guard.before({ ...call, signal: own }));
    if (ended.how === "cancelled") return cancelled(facts);
    if (ended.how !== "returned") return denied(tool, joined(permission, faultOf(ended, facts)));
    permission = joined(permission, ended.value.permission);
    if (!permission.allowed) return denied(tool, permission);
    call = { ...call, arguments: permission.rewritten ?? call.arguments, value: ended.value.value };
  }
  const verdict = await run.run(call.value);
  if ("stop" in verdict) return verdict;
  const seen = await look(guards, call, verdict, facts);
  if ("stop" in seen) return seen;
  if (seen.permission !== undefined) return { ...seen, permission: joined(permission, seen.permission) };
  return { ...seen, text: withNotes(permission, seen.text), ...defined({ permission }) };
}

/** What the guards let the policy read, the innermost first. */
async function look<State>(
  guards: readonly ToolGuard<State>[],
  call: GuardedCall<State>,
  first: Told,
  facts: CallFacts,
): Promise<Verdict> {
  let verdict = first;
  for (const guard of guards.toReversed()) {
    const { outcome, text: observation } = verdict;
    const ended = await within(facts, (own) => guard.after?.({ ...call, signal: own }, { outcome, observation }));
    if (ended.how === "cancelled") return cancelled(facts);
    if (ended.how !== "returned") {
      const permission = faultOf(ended, facts);
      const said = `"${call.tool}" was called, but what it returned is withheld: ${permission.reason}`;
      return { ...told("denied", said), permission };
    }
    verdict = { ...verdict, text: ended.value ?? observation };
  }
  return verdict;
}

function within<Value>(facts: CallFacts, work: (signal: AbortSignal) => Value | PromiseLike<Value>) {
  const own = lazySignal();
  return runWithin(() => work(own.get()), { parent: facts.signal, own, timeoutMs: facts.timeoutMs });
}

function faultOf(ended: Extract<Ended, { how: "threw" | "timeout" }>, facts: CallFacts): CallPermission {
  const reason =
    ended.how === "threw"
      ? errorText(ended.error)
      : `the decision about it took longer than ${facts.timeoutMs} ms, which denies`;
  return { allowed: false, by: "fault", asked: false, reason };
}

/** The later decision counts; what was asked and rewritten before it stays on record. */
function joined(before: CallPermission | undefined, now: CallPermission): CallPermission {
  if (before === undefined) return now;
  const rewritten = now.rewritten ?? before.rewritten;
  return { ...now, asked: before.asked || now.asked, ...defined({ rewritten }) };
}

function denied(tool: string, permission: CallPermission): Told {
  const { by, reason } = permission;
  const how = by === "person" ? "needs permission, which was asked for and refused" : "was denied";
  return { ...told("denied", `"${tool}" ${how}${reason === undefined ? "." : `: ${reason}`}`), permission };
}

/** What the policy is told besides the result: that someone was asked, and that something else was done than it said. */
function withNotes(permission: CallPermission | undefined, text: string): string {
  const given = permission?.by === "person" && permission.reason !== undefined ? `: ${permission.reason}` : ".";
  const notes = [
    ...(permission?.asked === true ? [`[Permission was asked for and given${given}]`] : []),
    ...(permission?.rewritten === undefined ? [] : [`[Called with ${JSON.stringify(permission.rewritten)} instead.]`]),
  ];
  return [...notes, text].join("\n");
}
