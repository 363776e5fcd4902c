import { defined } from "../../defined.ts";
import { errorText, LudusError } from "../../errors.ts";
import { type KnownOptions, refuseOtherValue, refuseUnknownOptions } from "../../known-options.ts";
import { isJsonObject } from "../../schema/parse-with.ts";
import type { CallPermission } from "../../schema/turn.ts";
import type { Tool } from "../tool.ts";
import type { CallEnd, GuardDecision, GuardedCall, ToolGuard } from "./guard.ts";
import {
  type CallPattern,
  checkAnswers,
  checkRules,
  matches,
  type Permission,
  type PermissionRule,
  type ScriptedAnswer,
} from "./rules.ts";

/** What a hook decides. Left out, that is left to the others. */
export interface HookDecision {
  readonly decide?: Permission;
  /** Told to the policy. */
  readonly reason?: string;
  /** What the tool is to be called with instead; its schema checks them. Further hooks and the rules see these. */
  readonly arguments?: Readonly<Record<string, unknown>>;
}

type MaybeLater<Value> = Value | Promise<Value>;

export type BeforeHook<State = unknown> = (call: GuardedCall<State>) => MaybeLater<HookDecision | undefined>;

/** Returns what the policy is to read instead of `observation`; undefined leaves it. */
export type AfterHook<State = unknown> = (call: GuardedCall<State> & CallEnd) => MaybeLater<string | undefined>;

/** Answers when a rule or a hook says `ask`. */
export type Person<State = unknown> = (
  call: GuardedCall<State> & { readonly reason?: string },
) => MaybeLater<Pick<ScriptedAnswer, "answer" | "say">>;

export interface PermissionOptions<State = unknown> {
  /** Of all that match a call, the strictest counts: `deny`, then `ask`, then `allow`. */
  rules?: readonly PermissionRule[];
  /** Before a call, in this order, and before the rules. A hook that throws denies the call. */
  before?: readonly BeforeHook<State>[];
  /** After a call, in this order. A hook that throws withholds what the call returned. */
  after?: readonly AfterHook<State>[];
  /** Who answers asks: a list of answers, or a function. Throwing denies. */
  person?: readonly ScriptedAnswer[] | Person<State>;
  /** For calls that no rule and no hook decides about; `allow` where absent. */
  otherwise?: Permission;
}

const knownOptions: KnownOptions<PermissionOptions> = {
  rules: true,
  before: true,
  after: true,
  person: true,
  otherwise: true,
};

/** The tools, with permissions decided before each call. */
export function permitTools<State>(
  tools: Readonly<Record<string, Tool<State>>>,
  options: PermissionOptions<State>,
): Record<string, Tool<State>> {
  const guarded = Object.entries(tools).map(([name, tool]) => {
    const guards = [guardOf(tool, options), ...(tool.guards ?? [])];
    return [name, { ...tool, guards }] as const;
  });
  return Object.fromEntries(guarded);
}

/** Throws for what cannot be meant. */
export function checkPermissionOptions(options: object): void {
  refuseUnknownOptions<PermissionOptions<never>>("withPermissions", options, knownOptions);
}

/** The same, for what depends on the tools. */
export function checkPermissions<State>(
  { rules = [], before = [], after = [], person, otherwise = "allow" }: PermissionOptions<State>,
  tools: Readonly<Record<string, Tool<State>>>,
): void {
  refuseOtherValue("withPermissions: otherwise", otherwise, ["allow", "ask", "deny"]);
  checkRules(rules, tools);
  if (typeof person === "object") checkAnswers(person, tools);
  const mayAsk = otherwise === "ask" || rules.some(({ decide }) => decide === "ask");
  if (mayAsk && person === undefined) {
    throw new LudusError("bad-permissions", {
      got: '"ask" without a person',
      expected: "`person`: a list of answers, or a function",
    });
  }
  if (otherwise !== "allow" || before.length > 0 || after.length > 0) return;
  if (rules.some(({ decide }) => decide !== "allow")) return;
  throw new LudusError("option-without-effect", {
    got: "withPermissions whose rules allow what is allowed anyway",
    expected: 'a rule or a hook that says "ask" or "deny"',
    hint: 'With `otherwise: "deny"` only what the rules allow is allowed.',
  });
}

function guardOf<State>(tool: Tool<State>, options: PermissionOptions<State>): ToolGuard<State> {
  return {
    before: (call) => decide(tool, call, options),
    async after(call, told) {
      let { observation } = told;
      for (const [index, hook] of (options.after ?? []).entries()) {
        const named = `hook after[${index}]`;
        const said = await trying(named, () => hook({ ...call, outcome: told.outcome, observation }));
        if (said !== undefined && typeof said !== "string") throw new Error(`${named} failed: it returned no text`);
        observation = said ?? observation;
      }
      return observation;
    },
  };
}

interface Opinion {
  readonly decide: Permission;
  readonly by: "rule" | "hook" | "default";
  readonly reason?: string;
}

async function decide<State>(
  tool: Tool<State>,
  first: GuardedCall<State>,
  options: PermissionOptions<State>,
): Promise<GuardDecision> {
  const opinions: Opinion[] = [];
  let call = first;
  let rewritten: CallPermission["rewritten"];
  for (const [index, hook] of (options.before ?? []).entries()) {
    const named = `hook before[${index}]`;
    const said = await trying(named, () => hook(call));
    if (said === undefined) continue;
    if (!isJsonObject(said)) throw new Error(`${named} failed: it returned no decision`);
    const { decide, reason, arguments: args } = checkDecision(named, said);
    if (decide !== undefined) opinions.push({ decide, by: "hook", ...defined({ reason }) });
    if (args === undefined) continue;
    rewritten = args;
    call = { ...call, arguments: args, value: await checkedAgain(named, tool, args) };
  }
  for (const [index, rule] of (options.rules ?? []).entries()) {
    if (await trying(`rules[${index}]`, () => isMeant(rule, rule.decide, call))) opinions.push({ ...rule, by: "rule" });
  }
  const { decide, by, reason } = strictest(opinions) ?? { decide: options.otherwise ?? "allow", by: "default" };
  const more = defined({ reason, rewritten });
  if (decide === "ask") {
    const answer = await ask({ ...call, ...defined({ reason }) }, options.person);
    return { permission: { ...answer, ...defined({ rewritten }) }, value: call.value };
  }
  return { permission: { allowed: decide === "allow", by, asked: false, ...more }, value: call.value };
}

/** What forbids has to see through what a schema trims, converts or fills in, and what allows must not be deceived by it. */
function isMeant(pattern: CallPattern, does: Permission, { tool, arguments: written, value }: GuardedCall): boolean {
  const [asWritten, asRead] = [matches(pattern, tool, written), matches(pattern, tool, value)];
  return does === "allow" ? asWritten && asRead : asWritten || asRead;
}

const strictness: Readonly<Record<Permission, number>> = { allow: 0, ask: 1, deny: 2 };

/** Of equally strict ones the first. */
function strictest(opinions: readonly Opinion[]): Opinion | undefined {
  return opinions.toSorted((a, b) => strictness[b.decide] - strictness[a.decide])[0];
}

async function ask<State>(
  call: Parameters<Person<State>>[0],
  person: PermissionOptions<State>["person"],
): Promise<CallPermission> {
  if (person === undefined) throw new Error("it needs permission, and nobody is there to ask");
  try {
    const { answer, say } = await (typeof person === "function" ? person(call) : scripted(call, person));
    refuseOtherValue("answer", answer, ["allow", "deny"]);
    return { allowed: answer === "allow", by: "person", asked: true, ...defined({ reason: say }) };
  } catch (error) {
    const reason = `the person who was asked failed: ${errorText(error)}`;
    return { allowed: false, by: "fault", asked: true, reason };
  }
}

function scripted(call: GuardedCall, answers: readonly ScriptedAnswer[]): Pick<ScriptedAnswer, "answer" | "say"> {
  return answers.find((each) => isMeant(each, each.answer, call)) ?? { answer: "deny" };
}

function checkDecision(named: string, said: HookDecision): HookDecision {
  return tryingNow(named, () => {
    refuseUnknownOptions("its decision", said, { decide: true, reason: true, arguments: true });
    if (said.decide !== undefined) refuseOtherValue("its decision", said.decide, ["allow", "ask", "deny"]);
    if (said.arguments !== undefined && !isJsonObject(said.arguments)) throw new Error("its arguments are no object");
    if (said.arguments === undefined) return said;
    // as they would come from a policy: what is told and stored is what the tool is called with
    return { ...said, arguments: JSON.parse(JSON.stringify(said.arguments)) as Record<string, unknown> };
  });
}

async function checkedAgain<State>(named: string, tool: Tool<State>, args: unknown): Promise<unknown> {
  const checked = await trying(named, () => tool.check(args));
  if (checked.ok) return checked.value;
  throw new Error(`${named} failed: it rewrote the arguments into wrong ones: ${checked.problem}`);
}

/** Says whose fault it was. */
async function trying<Value>(named: string, work: () => MaybeLater<Value>): Promise<Value> {
  try {
    return await work();
  } catch (error) {
    throw failed(named, error);
  }
}

function tryingNow<Value>(named: string, work: () => Value): Value {
  try {
    return work();
  } catch (error) {
    throw failed(named, error);
  }
}

function failed(named: string, error: unknown): Error {
  return new Error(`${named} failed, which denies: ${errorText(error)}`, { cause: error });
}
