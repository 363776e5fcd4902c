import { defined } from "./defined.ts";
import { LudusError } from "./errors.ts";
import { nearest } from "./nearest.ts";

/**
 * The keys of an options type as an object, so that the compiler refuses the table when a key is missing from it or too many:
 * `const options: KnownOptions<GrpoOptions> = { groupSize: true, clip: true }`.
 */
export type KnownOptions<Options> = { readonly [Key in KeysOf<Options>]-?: true };

type KeysOf<Options> = Options extends unknown ? keyof Options & string : never;

/** A misspelt option: what the compiler says of it, when the program runs. */
export class UnknownOptionError extends TypeError {
  override readonly name = "UnknownOptionError";
}

/**
 * Throws for a key that `what` does not know, and names the nearest one it does. Node strips types, so a misspelt option would
 * otherwise be ignored at run time.
 */
export function refuseUnknownOptions<Options extends object>(
  what: string,
  options: Options | undefined,
  known: KnownOptions<NoInfer<Options>>,
): void {
  if (options === undefined) return;
  const names = Object.keys(known);
  for (const name of Object.keys(options)) {
    if (Object.hasOwn(known, name)) continue;
    const meant = nearest(name, names);
    const remedy = meant === undefined ? `known options: ${names.join(", ")}` : `did you mean "${meant}"?`;
    throw new UnknownOptionError(`${what}: unknown option "${name}"; ${remedy}`);
  }
}

/** Throws for a value that is none of the choices, and names the nearest one. */
export function refuseOtherValue(what: string, value: unknown, choices: readonly string[]): void {
  if (typeof value === "string" && choices.includes(value)) return;
  const meant = typeof value === "string" ? nearest(value, choices) : undefined;
  throw new LudusError("bad-option", {
    got: `${what}: ${typeof value === "string" ? JSON.stringify(value) : String(value)}`,
    expected: choices.map((choice) => JSON.stringify(choice)).join(" or "),
    ...defined({ hint: meant === undefined ? undefined : `Did you mean "${meant}"?` }),
  });
}
