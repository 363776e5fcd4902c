/** A string as a Jinja literal. */
export function jinjaText(text: string): string {
  return `'${text.replaceAll("\\", "\\\\").replaceAll("'", "\\'").replaceAll("\n", "\\n")}'`;
}

/** Jinja for the arguments of `call` as JSON; tags in its strings are escaped as formats write them. */
export function jinjaArguments(tags: readonly string[]): string {
  const escapes = tags.flatMap((tag) =>
    [`<${tag}>`, `</${tag}>`].map((text) => ` | replace('${text}', '\\\\u003c${text.slice(1)}')`),
  );
  return `((call.arguments if call.arguments is string else (call.arguments | tojson))${escapes.join("")})`;
}
