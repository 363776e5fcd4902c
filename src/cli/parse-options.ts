import { parseArgs } from "node:util";
import { defined } from "../defined.ts";
import { type ErrorDetails, LudusError } from "../errors.ts";
import { nearest } from "../nearest.ts";

export interface Option {
  /** A `number` is whole and at least 0, a `real` any number. */
  readonly type: "boolean" | "string" | "number" | "real";
  readonly summary: string;
  /** What the help calls the value. */
  readonly value?: string;
  /** The largest value of a number. */
  readonly most?: number;
  /** The only values there are. */
  readonly choices?: readonly string[];
  /** May be given several times: the value is a list. */
  readonly isMany?: boolean;
}
export type OptionTable = Readonly<Record<string, Option>>;

type ValueOf<Given extends Option> = Given extends { readonly isMany: true } ? readonly OneOf<Given>[] : OneOf<Given>;

type OneOf<Given extends Option> = Given["type"] extends "boolean"
  ? boolean
  : Given["type"] extends "number" | "real"
    ? number
    : Given extends { readonly choices: readonly (infer Choice)[] }
      ? Choice
      : string;

export interface Parsed<Options extends OptionTable> {
  readonly values: { readonly [Name in keyof Options]?: ValueOf<Options[Name]> };
  readonly positionals: readonly string[];
}

/** A command line that was not understood: exit status 2. */
export class UsageError extends LudusError {}

export function usageError(code: string, details: ErrorDetails): UsageError {
  return new UsageError(code, details);
}

/** Reads `--name value`, `--name=value`, `--flag` and what else there is. Throws a `UsageError` that says what was meant. */
export function parseOptions<const Options extends OptionTable>(
  args: readonly string[],
  options: Options,
): Parsed<Options> {
  const types = Object.entries(options).map(([name, { type }]) => {
    return [name, { type: type === "boolean" ? "boolean" : "string" } as const] as const;
  });
  const { tokens, positionals } = parseArgs({
    args: [...args],
    options: Object.fromEntries(types),
    strict: false,
    allowPositionals: true,
    tokens: true,
  });
  const values: Record<string, unknown> = {};
  for (const token of tokens) {
    if (token.kind !== "option") continue;
    const option = Object.hasOwn(options, token.name) ? options[token.name] : undefined;
    if (option === undefined) throw unknownOption(token.rawName, Object.keys(options));
    const value = readValue(token.rawName, token.value, option);
    const earlier = values[token.name];
    values[token.name] = option.isMany ? [...(Array.isArray(earlier) ? earlier : []), value] : value;
  }
  // each was read by its own entry of the table
  return { values: values as Parsed<Options>["values"], positionals };
}

function unknownOption(name: string, known: readonly string[]): UsageError {
  const names = [...known, "help"];
  const meant = nearest(name.replace(/^-+/, ""), names);
  return usageError("unknown-option", {
    got: name,
    expected: `one of ${names.map((each) => `--${each}`).join(", ")}`,
    ...defined({ hint: meant !== undefined ? `Did you mean "--${meant}"?` : undefined }),
  });
}

function readValue(name: string, given: string | undefined, option: Option): unknown {
  const { type, choices, most, value = type } = option;
  if (type === "boolean") {
    if (given === undefined) return true;
    throw usageError("bad-option", { got: `${name}=${given}`, expected: `${name} alone` });
  }
  const expected = choices === undefined ? `a ${value}` : `one of ${choices.join(", ")}`;
  if (given === undefined) throw usageError("bad-option", { got: `${name} without a value`, expected });
  if (isRight(given, option)) return type === "string" ? given : Number(given);
  const meant = choices === undefined ? undefined : nearest(given, choices);
  throw usageError("bad-option", {
    got: `${name} ${given}`,
    expected:
      type === "number"
        ? `a whole number ${most === undefined ? "of at least 0" : `from 0 to ${most}`}`
        : type === "real"
          ? "a number"
          : expected,
    ...defined({ hint: meant !== undefined ? `Did you mean "${meant}"?` : undefined }),
  });
}

function isRight(given: string, { type, choices, most }: Option): boolean {
  if (type === "number") return /^\d+$/.test(given) && Number(given) <= (most ?? Number.MAX_SAFE_INTEGER);
  if (type === "real") return given.trim() !== "" && Number.isFinite(Number(given));
  return choices?.includes(given) ?? true;
}

/** What is left over on a command line is refused, with what was expected. */
export function onlyArguments(
  positionals: readonly string[],
  count: { readonly least: number; readonly most: number },
  expected: string,
  command: string,
): readonly string[] {
  if (positionals.length >= count.least && positionals.length <= count.most) return positionals;
  const got = positionals.length === 0 ? "nothing" : positionals.join(" ");
  throw usageError("bad-usage", { got, expected, hint: `See ludus ${command} --help.` });
}
