/** The keys of `Fields` that may be undefined become optional, without undefined. */
export type Defined<Fields> = {
  [Key in keyof Fields as undefined extends Fields[Key] ? never : Key]: Fields[Key];
} & {
  [Key in keyof Fields as undefined extends Fields[Key] ? Key : never]?: Exclude<Fields[Key], undefined>;
};

/**
 * The same fields without those that are undefined, so that an absent option stays absent (decision 0010):
 *
 *     const request = { tokens, maxTokens, ...defined({ topP, signal }) };
 */
export function defined<Fields extends object>(fields: Fields): Defined<Fields> {
  const kept: Partial<Fields> = {};
  for (const key in fields) if (fields[key] !== undefined) kept[key] = fields[key];
  return kept as unknown as Defined<Fields>;
}
