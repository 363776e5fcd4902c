import { LudusError } from "../errors.ts";
import { strip } from "./python-strings.ts";

// WebArena's rule evaluators. Keys are spelled as in its task files, so that those can be passed as they are. Every score is
// a product: one part that fails makes it 0. "a |OR| b" is met by either.

export interface RequiredContents {
  exact_match?: string;
  must_include?: readonly string[];
  must_exclude?: readonly string[];
  one_of?: readonly string[];
  /** Inequalities such as ">= 300" that the answer, read as a number, must meet. */
  required_values?: readonly string[];
}

export interface ReferenceAnswers extends RequiredContents {
  /** Judged by a model. "N/A": the task cannot be done, and the answer should say so. */
  fuzzy_match?: "N/A" | readonly string[];
}

export interface FuzzyQuestion {
  kind: "same-meaning" | "unachievable";
  prediction: string;
  /** The reference, or why the task cannot be done. */
  reference: string;
  intent: string;
}

/** Rates a prediction in [0, 1]. */
export type FuzzyJudge<Context = void> = (question: FuzzyQuestion, context: Context) => Promise<number>;

export interface StringMatchOptions {
  judge?: FuzzyJudge;
  intent?: string;
  /** Why a task with the answer "N/A" cannot be done. */
  note?: string;
}

/** WebArena's `string_match` on the agent's answer. */
export async function stringMatch(
  answer: string,
  reference: ReferenceAnswers,
  { judge, intent = "", note = "" }: StringMatchOptions = {},
): Promise<number> {
  const prediction = cleanAnswer(answer);
  const score = contentScore(prediction, reference, false);
  const { fuzzy_match: fuzzy } = reference;
  if (fuzzy === undefined) return score;
  if (fuzzy === "N/A" && prediction === "n/a") return score;
  if (judge === undefined) {
    throw new LudusError("judge-missing", {
      got: "a fuzzy_match without a judge",
      expected: "a function that answers it",
      hint: "Pass `judge`, or leave such tasks out.",
    });
  }
  if (fuzzy === "N/A") return score * (await judge({ kind: "unachievable", prediction, reference: note, intent }));
  if (prediction === "") return fuzzy.every((wanted) => wanted === "") ? score : 0;
  let product = score;
  for (const wanted of fuzzy) {
    // the product stays 0: skip the judge
    if (product === 0) return 0;
    product *= await judge({ kind: "same-meaning", prediction, reference: wanted, intent });
  }
  return product;
}

/** One page to look at: what its locator found, already fetched. */
export interface HtmlTarget {
  url: string;
  locator: string;
  /** The text of the located element, or of the whole page; "" where nothing was found. */
  content: string;
  required_contents: RequiredContents;
}

/** WebArena's `program_html` on what the locators found. */
export function htmlMatch(targets: readonly HtmlTarget[]): number {
  const met = targets.every(
    ({ content, required_contents }) => contentScore(decodeEntities(content), required_contents, true) === 1,
  );
  return met ? 1 : 0;
}

export type UrlRule = "EXACT" | "GOLD in PRED";

/** WebArena's `url_match`. "GOLD in PRED": host and path contain the reference's, and its query parameters are there. */
export function urlMatch(url: string, reference: string, rule: UrlRule = "GOLD in PRED"): number {
  const wanted = alternatives(reference).map(withoutSlash);
  const visited = withoutSlash(url);
  if (rule === "EXACT") return wanted.includes(visited) ? 1 : 0;
  const page = parseUrl(visited);
  const references = wanted.map(parseUrl);
  const values = new Map<string, string[]>();
  for (const [key, value] of references.flatMap(({ query }) => query)) {
    values.set(key, [...(values.get(key) ?? []), value]);
  }
  const isPage = references.some(({ path }) => page.path.includes(path));
  const hasQuery = [...values].every(([key, any]) => page.query.some(([k, v]) => k === key && any.includes(v)));
  return isPage && hasQuery ? 1 : 0;
}

function contentScore(prediction: string, wanted: RequiredContents, isPage: boolean): number {
  const text = cleanAnswer(prediction);
  const any = (reference: string, holds: (one: string) => boolean) => alternatives(reference).some(holds);
  // on pages a word may be found anywhere, in answers only as a whole word
  const includes = (reference: string) => includesPhrase(text, cleanAnswer(reference), !isPage);
  const { exact_match: exact, must_include, must_exclude, one_of, required_values } = wanted;
  const number = required_values === undefined ? Number.NaN : parseNumber(text);
  const isMet =
    (exact === undefined || any(exact, (one) => text === cleanAnswer(one))) &&
    (must_include ?? []).every((reference) => any(reference, includes)) &&
    !(must_exclude ?? []).some(includes) &&
    (one_of === undefined || one_of.some((reference) => text.includes(cleanAnswer(reference)))) &&
    (required_values ?? []).every((inequality) => any(inequality, (one) => meets(number, one)));
  return isMet ? 1 : 0;
}

/** Trimmed, out of one pair of quotes, in lower case. */
function cleanAnswer(answer: string): string {
  const text = strip(answer);
  const quote = text[0];
  const isQuoted = text.length > 1 && (quote === "'" || quote === '"') && text.endsWith(quote);
  return (isQuoted ? text.slice(1, -1) : text).toLowerCase();
}

/** A single word must be a word of the text, so that 0 is not found in 10; a phrase may be anywhere. */
function includesPhrase(text: string, phrase: string, byWord: boolean): boolean {
  return byWord && wordTokens(phrase).length === 1 ? wordTokens(text).includes(phrase) : text.includes(phrase);
}

function parseNumber(text: string): number {
  const plain = text.replaceAll(",", "");
  return /^[-+]?(?:\d+(?:\.\d*)?|\.\d+)$/.test(plain) ? Number(plain) : Number.NaN;
}

function meets(value: number, inequality: string): boolean {
  const match = /^\s*(<=|>=|==|<|>)\s*([-+]?\d+(?:\.\d+)?)\s*$/.exec(inequality);
  if (match === null) {
    throw new LudusError("bad-inequality", {
      got: `"${inequality}"`,
      expected: 'such as ">= 300", with <=, >=, ==, < or >',
    });
  }
  const bound = Number(match[2]);
  switch (match[1]) {
    case "<=":
      return value <= bound;
    case ">=":
      return value >= bound;
    case "==":
      return Math.abs(value - bound) <= 1e-8;
    case "<":
      return value < bound;
    default:
      return value > bound;
  }
}

function alternatives(reference: string): string[] {
  return reference.split(" |OR| ");
}

function withoutSlash(url: string): string {
  let end = url.length;
  while (url[end - 1] === "/") end--;
  return url.slice(0, end);
}

function parseUrl(url: string): { path: string; query: [string, string][] } {
  const [address, search = ""] = url
    .replace(/^[a-z][a-z0-9+.-]*:\/\//i, "")
    .split("#")[0]
    .split(/\?(.*)/s);
  const query = [...new URLSearchParams(search)].filter(([, value]) => value !== "");
  return { path: withoutSlash(address), query };
}

const token = /'(?:s|m|d|ll|re|ve)\b|n't\b|[\p{L}\p{N}_]+(?:(?:[-./&]|(?<=\d)[,:](?=\d))[\p{L}\p{N}_]+)*|\S/giu;

/**
 * Words and signs, near to NLTK's `word_tokenize`, which WebArena uses: `1,000`, `12:30`, `3.5` and `well-known` stay whole,
 * other signs stand alone, `it's` is two. Not NLTK's own rules: it also parts `cannot` and quotation marks.
 */
export function wordTokens(text: string): string[] {
  return text.replace(/n't\b/gi, " n't").match(token) ?? [];
}

const named: Record<string, string> = { amp: "&", lt: "<", gt: ">", quot: '"', apos: "'", nbsp: "\u00a0" };

/** Turns `&amp;`, `&lt;`, `&gt;`, `&quot;`, `&apos;`, `&nbsp;` and numbered characters into what they stand for. */
export function decodeEntities(text: string): string {
  return text.replace(/&(?:#(\d{1,7})|#[xX]([0-9a-fA-F]{1,6})|(\w{2,5}));/g, (whole, decimal, hexadecimal, name) => {
    if (name !== undefined) return named[name] ?? whole;
    const code = decimal === undefined ? Number.parseInt(hexadecimal, 16) : Number(decimal);
    return code <= 0x10ffff ? String.fromCodePoint(code) : whole;
  });
}
