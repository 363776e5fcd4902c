import { LudusError } from "./errors.ts";

/**
 * Throws where one of `names` was given although it has no effect in the combination of options that was chosen: `why` says in
 * which, and what to do. The types refuse it too; Node strips those.
 */
export function refuseWithoutEffect(
  what: string,
  options: object,
  names: readonly string[],
  why: { readonly when: string; readonly hint: string },
): void {
  const given = names.find((name) => (options as Readonly<Record<string, unknown>>)[name] !== undefined);
  if (given === undefined) return;
  throw new LudusError("option-without-effect", {
    got: `${what} with "${given}", which has no effect ${why.when}`,
    expected: `${what} without "${given}"`,
    hint: why.hint,
  });
}
