import { defined } from "../../defined.ts";
import { LudusError } from "../../errors.ts";
import { type KnownOptions, refuseOtherValue, refuseUnknownOptions } from "../../known-options.ts";
import { nearest } from "../../nearest.ts";
import { isJsonObject } from "../../schema/parse-with.ts";
import type { Tool } from "../tool.ts";

export type Permission = "allow" | "ask" | "deny";

/**
 * What an argument has to be: equal to a value, or matched by an expression (which sees what is no text as JSON), or accepted by a
 * function.
 */
export type ArgumentTest = string | number | boolean | RegExp | ((value: unknown) => boolean);

/** Which calls are meant: those of the tools whose arguments all pass. */
export interface CallPattern {
  /** A name, several, or `"*"` for every tool. */
  readonly tool: string | readonly string[];
  /** By the name of the argument. */
  readonly where?: Readonly<Record<string, ArgumentTest>>;
}

export interface PermissionRule extends CallPattern {
  readonly decide: Permission;
  /** Told to the policy. */
  readonly reason?: string;
}

/** What a scripted person answers to asks about such calls. The first that fits counts; where none fits, the answer is no. */
export interface ScriptedAnswer extends CallPattern {
  readonly answer: "allow" | "deny";
  /** Told to the policy. */
  readonly say?: string;
}

const knownRule: KnownOptions<PermissionRule> = { tool: true, where: true, decide: true, reason: true };
const knownAnswer: KnownOptions<ScriptedAnswer> = { tool: true, where: true, answer: true, say: true };

type Tools = Readonly<Record<string, Pick<Tool<never>, "spec">>>;

/** Throws for a rule about a tool or an argument that there is not, and names the nearest. */
export function checkRules(rules: readonly PermissionRule[], tools: Tools): void {
  for (const [index, rule] of rules.entries()) {
    const what = `rules[${index}]`;
    refuseUnknownOptions(what, rule, knownRule);
    refuseOtherValue(`${what}.decide`, rule.decide, ["allow", "ask", "deny"]);
    checkPattern(what, rule, tools);
  }
}

export function checkAnswers(answers: readonly ScriptedAnswer[], tools: Tools): void {
  for (const [index, answer] of answers.entries()) {
    const what = `person[${index}]`;
    refuseUnknownOptions(what, answer, knownAnswer);
    refuseOtherValue(`${what}.answer`, answer.answer, ["allow", "deny"]);
    checkPattern(what, answer, tools);
  }
}

/** Whether the arguments are meant. Throws where a function of the pattern does. */
export function matches({ tool, where = {} }: CallPattern, name: string, args: unknown): boolean {
  if (!namesOf(tool).some((each) => each === "*" || each === name)) return false;
  return Object.entries(where).every(([key, test]) => passes(test, isJsonObject(args) ? args[key] : undefined));
}

function passes(test: ArgumentTest, value: unknown): boolean {
  if (typeof test === "function") return test(value);
  if (!(test instanceof RegExp)) return test === value;
  const text = typeof value === "string" ? value : JSON.stringify(value);
  // not `test`, which goes on from where an expression with the flag `g` last matched
  return text !== undefined && text.search(test) !== -1;
}

const namesOf = (tool: CallPattern["tool"]) => (typeof tool === "string" ? [tool] : tool);

function checkPattern(what: string, { tool, where = {} }: CallPattern, tools: Tools): void {
  const known = Object.keys(tools);
  const names: unknown = namesOf(tool);
  if (!Array.isArray(names) || names.length === 0) {
    throw badRule(`${what}.tool = ${JSON.stringify(tool)}`, 'the name of a tool, several, or "*"');
  }
  for (const name of names) {
    if (name !== "*" && !known.includes(name)) throw unknownName(`${what}.tool "${name}"`, name, known, "a tool");
  }
  const meant = names.includes("*") ? known : known.filter((name) => names.includes(name));
  for (const [argument, test] of Object.entries(where)) {
    checkTest(`${what}.where.${argument}`, test);
    const all = meant.map((name) => argumentsOf(tools[name]));
    // a tool whose schema does not list its arguments may have any
    if (all.some((each) => each === undefined || each.includes(argument))) continue;
    throw unknownName(`${what}.where.${argument}`, argument, [...new Set(all.flatMap((each) => each!))], "an argument");
  }
}

function argumentsOf({ spec: { parameters } }: Tools[string]): readonly string[] | undefined {
  const { properties, additionalProperties } = parameters as Readonly<Record<string, unknown>>;
  return isJsonObject(properties) && (additionalProperties ?? false) === false ? Object.keys(properties) : undefined;
}

function checkTest(what: string, test: unknown): void {
  if (["string", "number", "boolean", "function"].includes(typeof test) || test instanceof RegExp) return;
  throw badRule(`${what} = ${JSON.stringify(test)}`, "a text, a number, a boolean, a RegExp or a function");
}

function unknownName(got: string, name: unknown, known: readonly string[], kind: string): LudusError {
  const meant = typeof name === "string" ? nearest(name, known) : undefined;
  return badRule(got, `${kind} that there is: ${known.join(", ")}`, meant && `Did you mean "${meant}"?`);
}

function badRule(got: string, expected: string, hint?: string): LudusError {
  return new LudusError("bad-permissions", { got, expected, ...defined({ hint }) });
}
