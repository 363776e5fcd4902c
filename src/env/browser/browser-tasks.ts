import type { Rng } from "../../random.ts";
import type { SiteBackend } from "./site-backend.ts";

/** A rule that the end of an episode is judged by, in the manner of WebArena's evaluators. All rules of a task must hold. */
export type TaskRule =
  | { readonly on: "url"; readonly is: string }
  | { readonly on: "answer"; readonly includes: string }
  /** Names and indices into the site's data, and what must be there. */
  | { readonly on: "state"; readonly path: readonly (string | number)[]; readonly is: unknown };

/** What someone who knows the site does for a task: pages to be on, what to write there, what to press, until `until` holds. */
export interface Milestone {
  readonly at: string;
  /** Names of fields, and what they must hold. */
  readonly write: Readonly<Record<string, string>>;
  readonly press: string;
  readonly until: readonly TaskRule[];
}

export interface BrowserTask {
  /** Seed of the sites' data. */
  readonly world: number;
  readonly site: string;
  readonly kind: string;
  /** 1: one page. 2: a form or a login. 3: several pages and forms. */
  readonly level: 1 | 2 | 3;
  readonly instruction: string;
  readonly start: string;
  readonly rules: readonly TaskRule[];
  readonly milestones: readonly Milestone[];
  /** What to say in the end. */
  readonly answer: string;
  /** Path of a page that says it, where one has to look. */
  readonly readAt?: string;
}

export interface TaskKind {
  readonly name: string;
  readonly site: string;
  readonly level: 1 | 2 | 3;
  /** Not among the tasks of training. */
  readonly isHeldOut?: boolean;
  make(
    rng: Rng,
    backend: SiteBackend,
  ): Pick<BrowserTask, "instruction" | "rules" | "milestones" | "readAt"> & { answer?: string };
}

export function isMet(rule: TaskRule, end: { url: string; answer: string; data: unknown }): boolean {
  switch (rule.on) {
    case "url":
      return end.url === rule.is;
    case "answer":
      return words(end.answer).includes(words(rule.includes));
    case "state":
      return JSON.stringify(at(end.data, rule.path)) === JSON.stringify(rule.is);
    default:
      return rule satisfies never;
  }
}

/** Words between spaces, so that 1 is not found in 12. */
function words(text: string): string {
  return ` ${text
    .toLowerCase()
    .replace(/[^\p{L}\p{N}$]+/gu, " ")
    .trim()} `;
}

function at(data: unknown, path: readonly (string | number)[]): unknown {
  let value = data;
  for (const step of path) {
    if (typeof value !== "object" || value === null) return undefined;
    value = (value as Record<string, unknown>)[step];
  }
  return value;
}
