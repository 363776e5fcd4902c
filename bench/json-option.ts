import { parseArgs } from "node:util";
import { LudusError } from "../src/errors.ts";

/** The options of a benchmark that has but one. */
export function parseJsonOption(benchmark: string, args: readonly string[]): { json: boolean } {
  try {
    return parseArgs({ args: [...args], options: { json: { type: "boolean", default: false } } }).values;
  } catch {
    const hint = `See npm run bench -- ${benchmark} --help.`;
    throw new LudusError("bad-option", { got: args.join(" "), expected: "--json", hint });
  }
}
