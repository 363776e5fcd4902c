import { parseArgs } from "node:util";
import { LudusError } from "../src/errors.ts";

/** The options of a benchmark that goes in rounds. */
export function parseRoundsOptions(
  benchmark: string,
  args: readonly string[],
  usual = 5,
): { rounds: number; json: boolean } {
  const fail = (got: string) =>
    new LudusError("bad-option", {
      got,
      expected: "--rounds <n> or --json",
      hint: `See npm run bench -- ${benchmark} --help.`,
    });
  try {
    const { values } = parseArgs({
      args: [...args],
      options: { rounds: { type: "string", default: `${usual}` }, json: { type: "boolean", default: false } },
    });
    const rounds = Number(values.rounds);
    if (!Number.isInteger(rounds) || rounds < 1) throw fail(`--rounds ${values.rounds}`);
    return { rounds, json: values.json };
  } catch (error) {
    throw error instanceof LudusError ? error : fail(args.join(" "));
  }
}
