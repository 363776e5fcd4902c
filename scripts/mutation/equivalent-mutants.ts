/** A mutant that behaves like the original for every input, so that no test can kill it. */
export interface EquivalentMutant {
  readonly file: string;
  /** As the report prints them in full: on one line, with single spaces. */
  readonly original: string;
  readonly replacement: string;
  /** The whole line of the source, trimmed; absent, every such mutant of the file is meant. */
  readonly line?: string;
  readonly reason: string;
}

/** Only what is truly equivalent: a mutant that merely is hard to test stays a survivor. */
export const equivalentMutants: readonly EquivalentMutant[] = [];
