import { LudusError } from "../../errors.ts";
import { searchWords } from "../search-text.ts";
import { firstKey } from "../step-keys.ts";
import type { PageOptions, TrajectoryFilter } from "../store.ts";
import { plain, real } from "./values.ts";

export interface Statement {
  readonly sql: string;
  readonly values: readonly unknown[];
}

/** Longer ones are not indexed, only compared. */
const longestTerm = 200;

/** What the index of a trajectory knows: words that were said, tools that were called, annotations by name. */
export function termsOf(words: readonly string[], tools: readonly string[], annotations: readonly string[]): string[] {
  const named = [...tools.map(toolTerm), ...annotations.map(annotationTerm)];
  return [...new Set([...words, ...named])].filter((term) => term.length <= longestTerm);
}

// words have letters and digits alone; terms travel as lines of one text
const oneLine = (name: string) => plain(name).replaceAll("\n", " ");
const toolTerm = (name: string) => `tool:${oneLine(name)}`;
const annotationTerm = (name: string) => `annotation:${oneLine(name)}`;

/** One row more than the page holds, which says whether there is another page. */
export function pageStatement(
  run: number,
  filter: TrajectoryFilter,
  page: Partial<PageOptions>,
): Statement & { limit: number } {
  const { limit = 50, order = "newest", after } = page;
  if (!Number.isInteger(limit) || limit < 1) {
    throw new LudusError("bad-page", { got: `limit ${limit}`, expected: "a whole number of at least 1" });
  }
  const where = new Conditions(run);
  where.addFilter(filter);
  if (after !== undefined) where.add((value) => `t.id ${order === "newest" ? "<" : ">"} ${value(after)}`);
  const direction = order === "newest" ? "DESC" : "ASC";
  const bound = where.value(limit + 1);
  return {
    sql: `SELECT t.* FROM trajectories t ${where.text} ORDER BY t.id ${direction} LIMIT ${bound}`,
    values: where.values,
    limit,
  };
}

export function countStatement(run: number, filter: TrajectoryFilter): Statement {
  const where = new Conditions(run);
  where.addFilter(filter);
  return { sql: `SELECT count(*) AS count FROM trajectories t ${where.text}`, values: where.values };
}

class Conditions {
  readonly values: unknown[] = [];
  readonly #all: string[] = [];

  constructor(run: number) {
    this.add((value) => `t.run = ${value(run)}`);
  }

  get text(): string {
    return `WHERE ${this.#all.join(" AND ")}`;
  }

  readonly value = (value: unknown): string => `$${this.values.push(value)}`;

  add(condition: (value: (value: unknown) => string) => string): void {
    this.#all.push(condition(this.value));
  }

  addFilter({
    steps = {},
    split,
    taskId,
    rollout,
    role,
    stop,
    success,
    annotations,
    tool,
    reward,
    text,
  }: TrajectoryFilter) {
    const { from, to } = steps;
    if (from !== undefined) this.add((value) => `t.id >= ${value(firstKey(from))}`);
    if (to !== undefined) this.add((value) => `t.id < ${value(firstKey(to + 1))}`);
    const equal = { split, role, stop, success };
    for (const [column, wanted] of Object.entries(equal)) {
      if (wanted === undefined) continue;
      this.add((value) => `t.${column} = ${value(typeof wanted === "string" ? plain(wanted) : wanted)}`);
    }
    this.#addHashed("task_id", taskId);
    this.#addHashed("rollout", rollout);
    if (reward !== undefined) {
      const { min = Number.NEGATIVE_INFINITY, max = Number.POSITIVE_INFINITY } = reward;
      // a bound that is no number is nothing, and holds for nothing
      this.add((value) => `t.reward BETWEEN ${value(real(min))}::float8 AND ${value(real(max))}::float8`);
    }
    if (tool !== undefined) {
      this.#addTerms([toolTerm(tool)]);
      this.add((value) => `t.tools::jsonb ? ${value(plain(tool))}`);
    }
    for (const [name, wanted] of Object.entries(annotations ?? {})) this.#addAnnotation(name, wanted);
    if (text !== undefined && text.trim() !== "") this.#addPhrase(text);
  }

  #addHashed(column: string, wanted: string | undefined): void {
    if (wanted === undefined) return;
    this.add((value) => {
      const text = `${value(plain(wanted))}::text`;
      return `md5(t.${column}) = md5(${text}) AND t.${column} = ${text}`;
    });
  }

  #addAnnotation(name: string, wanted: boolean | string): void {
    if (wanted !== false) this.#addTerms([annotationTerm(name)]);
    this.add((value) => {
      const kind = `t.annotations::jsonb ->> ${value(plain(name))}::text`;
      if (typeof wanted === "string") return `${kind} = ${value(plain(wanted))}`;
      return `${kind} IS ${wanted ? "NOT NULL" : "NULL"}`;
    });
  }

  #addTerms(terms: readonly string[]): void {
    const short = terms.filter((term) => term.length <= longestTerm);
    if (short.length === 0) return;
    this.add((value) => `${inWords(`w.terms @> ${value(short)}::text[]`)}`);
  }

  /** Whole words one after the other; a `*` at the end stands for any ending. Words have no character that LIKE knows. */
  #addPhrase(text: string): void {
    const [isPrefix, words] = [/\*\s*$/.test(text), searchWords(text)];
    if (words.length === 0) {
      this.add(() => "false");
      return;
    }
    this.#addTerms(isPrefix ? words.slice(0, -1) : words);
    this.add((value) => inWords(`w.words LIKE ${value(`% ${words.join(" ")}${isPrefix ? "" : " "}%`)}`));
  }
}

const inWords = (condition: string) =>
  `EXISTS (SELECT 1 FROM trajectory_words w WHERE w.run = t.run AND w.id = t.id AND ${condition})`;
