import { right, type VerifierVerdict, wrong } from "./verdict.ts";

export interface CitationRules {
  /** The texts that may be cited, by the name that stands in brackets: `[1]`, `[wiki-3]`. */
  readonly sources: Readonly<Record<string, string>>;
  /** Names that have to be cited; none by default. */
  readonly required?: readonly string[];
  /** Quotations with a citation that there have to be; 0 by default. */
  readonly quotations?: number;
}

/** A quotation of fewer words stands in almost every source. */
const leastWords = 3;
const longest = 200_000;

/**
 * Whether a text cites its sources truly: at least one citation, each of a source there is, each quotation before a citation (`"…" [2]`)
 * found in that source, and all required ones cited. Case, white space and the kind of quotation mark do not count.
 * Whether a claim follows from its source is for a judge to say.
 */
export function checkCitations(
  text: string,
  { sources, required = [], quotations = 0 }: CitationRules,
): VerifierVerdict {
  if (text.length > longest) return wrong("too long");
  const cited = new Set<string>();
  let quoted = 0;
  const known = new Map(Object.entries(sources).map(([name, source]) => [name, normal(source)]));
  for (const { names, quotation } of citationsOf(text)) {
    for (const name of names) {
      if (!known.has(name)) return wrong(`[${name}], which is no source`);
      cited.add(name);
    }
    if (quotation === undefined) continue;
    const words = normal(quotation);
    if (words.split(" ").length < leastWords) continue;
    if (!names.some((name) => known.get(name)!.includes(words))) return wrong(`a quotation that is not in [${names}]`);
    quoted++;
  }
  if (cited.size === 0) return wrong("no citation");
  if (!/\p{L}/u.test(text.replace(/\[[\w., -]*\]/g, ""))) return wrong("nothing but citations");
  const missing = required.find((name) => !cited.has(name));
  if (missing !== undefined) return wrong(`[${missing}] is not cited`);
  return quoted >= quotations ? right : wrong(`${quoted} of ${quotations} quotations`);
}

interface Citation {
  readonly names: readonly string[];
  /** What stands in quotation marks directly before it. */
  readonly quotation: string | undefined;
}

function citationsOf(text: string): Citation[] {
  const plain = straight(text);
  // neighbours such as [1][2] and [1, 2] are one citation of several sources
  const form = /\[[\w.-]{1,64}(?:, ?[\w.-]{1,64}){0,31}\](?:\[[\w.-]{1,64}\]){0,31}/g;
  let from = 0;
  return [...plain.matchAll(form)].map(({ 0: found, index }) => {
    const before = plain.slice(from, index).replace(/[\s.,]{0,8}$/, "");
    from = index + found.length;
    const opens = before.endsWith('"') ? before.lastIndexOf('"', before.length - 2) : -1;
    return {
      names: found.slice(1, -1).split(/\]\[|, ?/),
      quotation: opens === -1 ? undefined : before.slice(opens + 1, -1),
    };
  });
}

function straight(text: string): string {
  return text.replace(/[“”„«»]/g, '"');
}

function normal(text: string): string {
  return straight(text)
    .toLowerCase()
    .replace(/[‘’]/g, "'")
    .split(/\s+/)
    .filter((word) => word !== "")
    .join(" ")
    .replace(/[.,;:]+$/, "");
}
