import { LudusError } from "../../errors.ts";
import { type KnownOptions, refuseUnknownOptions } from "../../known-options.ts";
import { checkBudget, checkCounts, type SearchBudget, Spending } from "./budget.ts";
import { distinctTurns } from "./distinct-turns.ts";
import type { OpenAttempt } from "./open-attempt.ts";
import { discard, failing, likelihood, playOn, renamed, type Search, type SearchValue, valueSoFar } from "./search.ts";

export interface BeamSearchOptions {
  /** Lines of play that are kept after each turn. */
  width: number;
  /** Turns that are sampled at the end of each of them; equal ones count once. */
  branches: number;
  /** What lines are compared by, ended or not; how probable they are by default. */
  value: SearchValue;
  /**
   * Taken off the value of a line for each line that was kept before it, times the share of its last turn's tokens that are the same there: what is kept differs
   * (Diverse Beam Search). 0 by default: near copies of one line may fill the beam.
   */
  diversity: number;
  /** What the one line that counts is chosen by, of those that are left when all have ended; their `value` by default. */
  choose: SearchValue | undefined;
  budget: SearchBudget;
}

const knownBeamSearchOptions: KnownOptions<BeamSearchOptions> = {
  width: true,
  branches: true,
  value: true,
  diversity: true,
  choose: true,
  budget: true,
};

const defaults: BeamSearchOptions = {
  width: 4,
  branches: 4,
  value: likelihood,
  diversity: 0,
  choose: undefined,
  budget: {},
};

/**
 * Beam search over turns: lines of play are gone on with on copies, and the best of them are kept. Where chance plays a part, lines have luck too,
 * and the search prefers the lucky ones.
 */
export function beamSearch(options: Partial<BeamSearchOptions> = {}): Search {
  refuseUnknownOptions("beamSearch", options, knownBeamSearchOptions);
  const chosen = { ...defaults, ...options };
  checkCounts("beamSearch", { width: chosen.width, branches: chosen.branches });
  checkBudget("beamSearch", chosen.budget);
  if (!(chosen.diversity >= 0 && Number.isFinite(chosen.diversity))) {
    throw new LudusError("bad-option", { got: `diversity ${chosen.diversity} of beamSearch`, expected: "0 or more" });
  }
  return {
    name: "beam-search",
    async play(begin, own) {
      const spending = new Spending(chosen.budget, own);
      const root = await begin({ id: own.id, seed: own.seed });
      const opened = new Set<OpenAttempt<(typeof root)["task"]["data"]>>();
      let best: OpenAttempt<(typeof root)["task"]["data"]> = root;
      await failing(root, async () => {
        try {
          let beam: Line[] = [{ attempt: root, value: 0, last: new Int32Array(0) }];
          while (beam.some(({ attempt }) => attempt.stop === undefined) && !spending.isSpent) {
            const lines = await grown(beam, chosen, spending, (copy) => opened.add(copy as typeof root));
            if (lines.length === 0) break;
            beam = kept(lines, chosen);
            best = beam[0].attempt as typeof root;
          }
          if (chosen.choose !== undefined) best = (await chosenOf(beam, chosen.choose)) as typeof root;
          while (best.stop === undefined) await playOn(best, spending);
          opened.delete(best);
        } finally {
          await discard(opened);
        }
      });
      if (best !== root && root.stop === undefined) await discard([root]);
      return root.stop === "env-crash" ? root.played() : renamed(best.played(), own.id);
    },
  };
}

interface Line {
  readonly attempt: OpenAttempt;
  readonly value: number;
  /** The tokens of its last turn. */
  readonly last: Int32Array;
}

/** The most valuable lines, each less what it has in common with those before it; the first of equals. */
function kept(lines: readonly Line[], { width, diversity }: BeamSearchOptions): Line[] {
  const left = lines.toSorted((a, b) => b.value - a.value);
  if (diversity === 0) return left.slice(0, width);
  const beam: Line[] = [];
  while (beam.length < width && left.length > 0) {
    const worth = left.map(
      ({ value, last }) => value - diversity * beam.reduce((sum, other) => sum + inCommon(last, other.last), 0),
    );
    beam.push(...left.splice(worth.indexOf(Math.max(...worth)), 1));
  }
  return beam;
}

/** The share of tokens that are the same in the same place. */
function inCommon(a: Int32Array, b: Int32Array): number {
  const same = a.reduce((sum, token, i) => sum + (token === b[i] ? 1 : 0), 0);
  return same / Math.max(1, a.length, b.length);
}

/** Of lines that nobody can tell the value of, the first. */
async function chosenOf(beam: readonly Line[], choose: SearchValue): Promise<OpenAttempt> {
  let best: { attempt: OpenAttempt; value: number } | undefined;
  for (const { attempt } of beam) {
    const value = (await valueSoFar(attempt, choose)) ?? Number.NEGATIVE_INFINITY;
    if (best === undefined || value > best.value) best = { attempt, value };
  }
  return best!.attempt;
}

async function grown(
  beam: readonly Line[],
  { branches, value }: BeamSearchOptions,
  spending: Spending,
  onCopy: (copy: OpenAttempt) => void,
): Promise<Line[]> {
  const lines: Line[] = [];
  for (const line of beam) {
    if (line.attempt.stop !== undefined) {
      lines.push(line);
      continue;
    }
    for (const said of await distinctTurns(line.attempt, branches, spending)) {
      const copy = await line.attempt.copy({ id: spending.nextId(), seed: spending.next() });
      onCopy(copy);
      await copy.take(said);
      const worth = await valueSoFar(copy, value);
      if (worth !== undefined) lines.push({ attempt: copy, value: worth, last: said.tokens });
    }
  }
  return lines;
}
