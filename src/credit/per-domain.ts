import { defined } from "../defined.ts";
import { type KnownOptions, refuseUnknownOptions } from "../known-options.ts";
import { groupAttempts } from "./attempts.ts";
import type { Credit, CreditRow } from "./credit.ts";
import { creditResult } from "./credit-result.ts";
import { fitNormaliser, type NormaliseMethod, type Normaliser, normaliseReward } from "./normalise-rewards.ts";

export interface PerDomainOptions {
  /** Which rewards share a scale. RAGEN's names: `domain` is "inductive", `group` is "state". */
  readonly grouping: "domain" | "group" | "batch";
  readonly method: NormaliseMethod;
}

const defaults: PerDomainOptions = { grouping: "domain", method: "mean-std" };

const known: KnownOptions<PerDomainOptions> = { grouping: true, method: true };

/**
 * Brings rewards of different domains to one scale before `credit` sees them; each rollout counts once. Turn rewards and
 * greedy baselines are scaled alike, and what is subtracted from the total is taken off at the rollout's end. Values, where
 * the credit uses them, are of the scaled rewards: they learn from its returns.
 */
export function perDomain(credit: Credit, options: Partial<PerDomainOptions> = {}): Credit {
  refuseUnknownOptions("perDomain", options, known);
  const { grouping, method } = { ...defaults, ...options };
  const keyOf = (row: CreditRow) => ({ domain: row.domain ?? "", group: row.group, batch: "" })[grouping];
  return {
    name: `per-domain(${credit.name})`,
    needs: credit.needs,
    assign(rows) {
      const groups = groupAttempts(rows, credit.needs);
      const attempts = Map.groupBy(groups.flat(), (attempt) => keyOf(rows[attempt.rows[0]]));
      const normalisers = new Map<string, Normaliser>();
      for (const [key, members] of attempts) {
        const rewards = members.map(({ reward }) => reward);
        normalisers.set(key, fitNormaliser(rewards, method));
      }
      const scaled = rows.map((row) => scaleRow(row, normalisers.get(keyOf(row))!));
      const { advantages_B_T, metrics, ...others } = credit.assign(scaled);
      // deviations and uniform groups are those of the rewards as given
      const own = creditResult(rows, groups, advantages_B_T);
      return { ...own, ...others, metrics: { ...metrics, ...own.metrics } };
    },
  };
}

function scaleRow(row: CreditRow, normaliser: Normaliser): CreditRow {
  return {
    ...row,
    reward: normaliseReward(row.reward, normaliser),
    turns: row.turns.map((turn) => ({ ...turn, reward: turn.reward * normaliser.scale })),
    ...defined({ baseline: row.baseline === undefined ? undefined : normaliseReward(row.baseline, normaliser) }),
  };
}
