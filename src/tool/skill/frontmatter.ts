import { LudusError } from "../../errors.ts";

/** A field's value: text, or a map of texts. */
export type FieldValue = string | Readonly<Record<string, string>>;

export interface Frontmatter {
  readonly fields: ReadonlyMap<string, FieldValue>;
  readonly body: string;
}

/**
 * Reads the YAML between two lines of `---` at the beginning of a file, as far as skills need it: texts (plain, quoted, and blocks
 * after `|` and `>`) and maps of texts. Anything else is an error that names file, line and field.
 */
export function readFrontmatter(file: string, content: string): Frontmatter {
  const lines = content.split(/\r?\n/);
  const end = lines.indexOf("---", 1);
  if (lines[0] !== "---" || end === -1) {
    throw badSkill(file, "no frontmatter", "a first line `---`, fields, and a line `---`");
  }
  const fields = readMap(file, lines.slice(1, end), 2);
  return {
    fields,
    body: lines
      .slice(end + 1)
      .join("\n")
      .trim(),
  };
}

export function badSkill(where: string, got: string, expected: string, hint?: string): LudusError {
  return new LudusError("bad-skill", { got: `${got} in ${where}`, expected, ...(hint === undefined ? {} : { hint }) });
}

const isBlank = (line: string) => /^\s*(#.*)?$/.test(line);
const indentOf = (line: string) => line.length - line.trimStart().length;

function readMap(file: string, lines: readonly string[], firstLine: number): Map<string, FieldValue> {
  const fields = new Map<string, FieldValue>();
  for (let at = 0; at < lines.length; ) {
    const line = lines[at];
    const where = `${file}:${firstLine + at}`;
    if (isBlank(line)) {
      at++;
      continue;
    }
    const [, key, first] = /^([A-Za-z][\w-]*):(?:\s+(.*))?$/.exec(line) ?? [];
    if (key === undefined) throw badSkill(where, JSON.stringify(line), "`name: value`, not indented");
    if (fields.has(key)) throw badSkill(where, `the field "${key}" a second time`, "each field once");
    let next = at + 1;
    // an indented line goes on with the field; an empty one only where an indented one follows
    while (next < lines.length && (lines[next].trim() === "" || indentOf(lines[next]) > 0)) next++;
    fields.set(key, readValue(`the field "${key}" of ${where}`, (first ?? "").trim(), lines.slice(at + 1, next)));
    at = next;
  }
  return fields;
}

function readValue(where: string, first: string, more: readonly string[]): FieldValue {
  const block = /^([|>])([-+]?)(?:\s+#.*)?$/.exec(first);
  if (block !== null) return blockOf(block[1] === ">", block[2], more);
  const rest = more.filter((line) => !isBlank(line));
  if ((first === "" || first.startsWith("#")) && rest.length > 0) return mapOf(where, rest);
  return scalarOf(where, [first, ...rest.map((line) => line.trim())].join(" ").trim());
}

function blockOf(isFolded: boolean, chomp: string, lines: readonly string[]): string {
  const indent = Math.min(...lines.filter((line) => line.trim() !== "").map(indentOf));
  const text = lines.map((line) => line.slice(Number.isFinite(indent) ? indent : 0)).join("\n");
  const kept = isFolded ? text.replace(/([^\n])\n(?=[^\n\s])/g, "$1 ").replace(/\n\n/g, "\n") : text;
  return chomp === "-" ? kept.trimEnd() : `${kept.trimEnd()}\n`;
}

function mapOf(where: string, lines: readonly string[]): Record<string, string> {
  const indent = indentOf(lines[0]);
  const entries = lines.map((line) => {
    const [, key, value] = /^\s+("[^"]*"|'[^']*'|[^\s:#'"[{&*!|>%@`-][^:]*):(?:\s+(.*))?$/.exec(line) ?? [];
    if (key === undefined || indentOf(line) !== indent) {
      throw badSkill(where, JSON.stringify(line.trim()), "a text, or lines of `name: text` with one indentation");
    }
    return [key.replace(/^(["'])(.*)\1$/, "$2"), scalarOf(where, (value ?? "").trim())] as const;
  });
  return Object.fromEntries(entries);
}

/** What YAML does not read as plain text, and what skills never need. */
const special = /^[[\]{}&*!|>%@`,?-](?=\s|$)|^[[\]{}&*!|>%@`]/;

function scalarOf(where: string, text: string): string {
  if (text.startsWith('"')) return doubleQuoted(where, text);
  if (text.startsWith("'")) {
    const [, inner] = /^'((?:[^']|'')*)'(?:\s+#.*)?$/.exec(text) ?? [];
    if (inner === undefined) throw badSkill(where, text, "a closing '");
    return inner.replaceAll("''", "'");
  }
  if (special.test(text)) throw badSkill(where, text, "a text", "Put it in quotes.");
  const plain = text.replace(/(?:^|\s+)#.*$/, "");
  if (/:(\s|$)/.test(plain)) throw badSkill(where, text, "a text without `: `", "Put it in quotes.");
  return plain;
}

function doubleQuoted(where: string, text: string): string {
  const [, quoted] = /^("(?:[^"\\]|\\.)*")(?:\s+#.*)?$/.exec(text) ?? [];
  try {
    if (quoted !== undefined) return JSON.parse(quoted) as string;
  } catch {
    // an escape that JSON does not have
  }
  throw badSkill(where, text, 'a closing ", and escapes that JSON has too');
}
