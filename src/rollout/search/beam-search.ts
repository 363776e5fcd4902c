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
  budget: SearchBudget;
}

const knownBeamSearchOptions: KnownOptions<BeamSearchOptions> = {
  width: true,
  branches: true,
  value: true,
  budget: true,
};

const defaults: BeamSearchOptions = { width: 4, branches: 4, value: likelihood, budget: {} };

/**
 * Beam search over turns: lines of play are gone on with on copies, and the best of them are kept. Where chance plays a part, lines have luck too,
 * and the search prefers the lucky ones.
 */
export function beamSearch(options: Partial<BeamSearchOptions> = {}): Search {
  refuseUnknownOptions("beamSearch", options, knownBeamSearchOptions);
  const chosen = { ...defaults, ...options };
  checkCounts("beamSearch", { width: chosen.width, branches: chosen.branches });
  checkBudget("beamSearch", chosen.budget);
  return {
    name: "beam-search",
    async play(begin, own) {
      const spending = new Spending(chosen.budget, own);
      const root = await begin({ id: own.id, seed: own.seed });
      const opened = new Set<OpenAttempt<(typeof root)["task"]["data"]>>();
      let best: OpenAttempt<(typeof root)["task"]["data"]> = root;
      await failing(root, async () => {
        try {
          let beam: Line[] = [{ attempt: root, value: 0 }];
          while (beam.some(({ attempt }) => attempt.stop === undefined) && !spending.isSpent) {
            const lines = await grown(beam, chosen, spending, (copy) => opened.add(copy as typeof root));
            if (lines.length === 0) break;
            beam = lines.toSorted((a, b) => b.value - a.value).slice(0, chosen.width);
            best = beam[0].attempt as typeof root;
          }
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
      if (worth !== undefined) lines.push({ attempt: copy, value: worth });
    }
  }
  return lines;
}
