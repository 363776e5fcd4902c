import { bounds } from "./bounds.ts";

const hidden = "[redacted]";

const secretName = "(?:key|token|secret|passw(?:or)?d|pwd|credentials?|signature|sig|auth)";
// every repetition is bounded or cannot overlap with what follows it: hostile text is read in one pass
const rules: readonly (readonly [RegExp, string])[] = [
  [/-----BEGIN [A-Z ]{0,30}PRIVATE KEY-----[^-]*(?:-----END [A-Z ]{0,30}PRIVATE KEY-----)?/g, hidden],
  // headers
  [
    /\b((?:proxy-)?authorization|x-api-key|api-key|(?:set-)?cookie)(["']?\s{0,8}[:=]\s{0,8}["']?)(?:(?:bearer|basic|token)\s{1,8})?[^\s"',}]+/gi,
    `$1$2${hidden}`,
  ],
  [/\b(bearer|basic)(\s{1,8})(?=[\w.~+/=-]{0,200}\d)[\w.~+/=-]{8,}/gi, `$1$2${hidden}`],
  // https://user:password@host
  [/\b([a-z][a-z0-9+.-]{0,20}:\/\/)[^\s/@?#"']{1,300}@/gi, `$1${hidden}@`],
  // ?api_key=…, DB_PASSWORD=…, "token": "…", --api-key …
  [new RegExp(`\\b([\\w.-]{0,40}${secretName}["']?\\s{0,4}=\\s{0,4}["']?)[^\\s&"'#;,)]{3,}`, "gi"), `$1${hidden}`],
  [new RegExp(`(["'][\\w.-]{0,40}${secretName}["']\\s{0,4}:\\s{0,4}["'])[^"']{3,}`, "gi"), `$1${hidden}`],
  [new RegExp(`(--?[\\w-]{0,40}${secretName}\\s{1,4}["']?)[^\\s"'-][^\\s"']{2,}`, "gi"), `$1${hidden}`],
  // keys that are known by their looks
  [
    /\b(?:sk|pk|rk)[-_][\w-]{16,}|\bgh[opsur]_\w{20,}|\bgithub_pat_\w{20,}|\bglpat-[\w-]{16,}|\bhf_[A-Za-z0-9]{20,}|\bnpm_[A-Za-z0-9]{30,}|\bxox[abeoprs]-[\w-]{10,}|\bA(?:KIA|SIA)[0-9A-Z]{16}\b|\bAIza[\w-]{30,}|\beyJ[\w-]{10,}\.[\w-]{10,}\.[\w-]{5,}/g,
    hidden,
  ],
];

/** Shorter values are words like any other. */
const shortestSecret = 6;

/**
 * A text that is kept or shown, such as that of a failure, without the secrets in it: passwords and keys in addresses, command
 * lines, headers and JSON, keys of the usual shapes, and the values of `named`, in whose place their names stand.
 */
export function redact(text: string, named: Readonly<Record<string, string>> = {}): string {
  const cut = text.length - bounds.redactedChars;
  let shown = cut > 0 ? text.slice(0, bounds.redactedChars).replace(/[\ud800-\udbff]$/, "") : text;
  const values = Object.entries(named).filter(([, value]) => value.length >= shortestSecret);
  // the longest first: one may be a part of another
  for (const [name, value] of values.sort(([, a], [, b]) => b.length - a.length)) {
    shown = shown.replaceAll(value, `[${name}]`);
  }
  for (const [pattern, replacement] of rules) shown = shown.replace(pattern, replacement);
  return cut > 0 ? `${shown}\n[${cut} characters cut]` : shown;
}
