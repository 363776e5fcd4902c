/** The part of Standard Schema (standardschema.dev) that tools use: zod, valibot, arktype and others implement it. */
export interface StandardSchema<Output = unknown> {
  readonly "~standard": {
    readonly version: 1;
    readonly vendor: string;
    validate(value: unknown): StandardResult<Output> | Promise<StandardResult<Output>>;
    readonly types?: { readonly input: unknown; readonly output: Output } | undefined;
    /** Standard JSON Schema, where the library has it. */
    readonly jsonSchema?: { input(options: { readonly target: string }): Record<string, unknown> } | undefined;
  };
}

export type StandardResult<Output> =
  | { readonly value: Output; readonly issues?: undefined }
  | { readonly issues: readonly StandardIssue[] };

export interface StandardIssue {
  readonly message: string;
  /** Keys, or objects with a `key`. */
  readonly path?: readonly unknown[] | undefined;
}

/** What a schema gives once the input has passed. */
export type OutputOf<Schema extends StandardSchema> = NonNullable<Schema["~standard"]["types"]>["output"];

/** What a schema takes: defaults may be left out. */
export type InputOf<Schema extends StandardSchema> = NonNullable<Schema["~standard"]["types"]>["input"];

const maxIssues = 5;

/** One line for whoever wrote the input: `items[0].name: expected string; limit: too big`. */
export function describeIssues(issues: readonly StandardIssue[]): string {
  const lines = issues.slice(0, maxIssues).map(({ message, path = [] }) => {
    const where = path.map(keyOf).reduce<string>(joinKey, "");
    return where === "" ? message : `${where}: ${message}`;
  });
  if (issues.length > maxIssues) lines.push(`${issues.length - maxIssues} more`);
  return lines.join("; ");
}

function keyOf(segment: unknown): unknown {
  return typeof segment === "object" && segment !== null && "key" in segment ? segment.key : segment;
}

function joinKey(where: string, key: unknown): string {
  if (typeof key === "number") return `${where}[${key}]`;
  return where === "" ? String(key) : `${where}.${String(key)}`;
}
