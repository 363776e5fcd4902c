import { LudusError } from "../../errors.ts";

/** Throws unless every option is a whole number within its bounds, both included. */
export function checkWholeOptions(
  env: string,
  ranges: Readonly<Record<string, readonly [value: number, least: number, most: number]>>,
): void {
  for (const [name, [value, least, most]] of Object.entries(ranges)) {
    if (Number.isInteger(value) && value >= least && value <= most) continue;
    throw new LudusError("bad-option", {
      got: `${name} = ${value} of ${env}`,
      expected: `a whole number, ${least} to ${most}`,
    });
  }
}
