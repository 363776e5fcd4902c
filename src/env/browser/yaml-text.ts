/** A key of YAML, quoted where it must be. */
export function yamlKey(text: string): string {
  return needsQuotes(text) ? `'${text.replace(/'/g, "''")}'` : text;
}

/** A value of YAML, quoted where it must be. */
export function yamlValue(text: string): string {
  return needsQuotes(text) ? `"${text.replace(/[\\"\p{Cc}]/gu, escaped)}"` : text;
}

const named: Readonly<Record<string, string>> = {
  "\\": "\\\\",
  '"': '\\"',
  "\b": "\\b",
  "\f": "\\f",
  "\n": "\\n",
  "\r": "\\r",
  "\t": "\\t",
};

function escaped(character: string): string {
  return named[character] ?? `\\x${character.charCodeAt(0).toString(16).padStart(2, "0")}`;
}

const words = new Set(["y", "n", "yes", "no", "true", "false", "on", "off", "null"]);

function needsQuotes(text: string): boolean {
  return (
    text === "" ||
    /^\s|\s$/.test(text) ||
    /[^\P{Cc}\t\n\r]/u.test(text) ||
    text.startsWith("-") ||
    /[\n:](\s|$)/.test(text) ||
    /\s#/.test(text) ||
    /[\n\r]/.test(text) ||
    /^[&*\],?!>|@"'#%]/.test(text) ||
    /[{}`]/.test(text) ||
    text.startsWith("[") ||
    !Number.isNaN(Number(text)) ||
    words.has(text.toLowerCase())
  );
}
