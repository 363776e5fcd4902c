import { defined } from "../defined.ts";
import { groupAttempts } from "./attempts.ts";
import type { Credit, CreditRow } from "./credit.ts";
import { creditResult } from "./credit-result.ts";
import { reinforcePlusPlusCredit } from "./reinforce-plus-plus.ts";

/**
 * Every pair of domain and role is credited on its own, so that its mean and deviation are its own. With REINFORCE++, the
 * default, this is TRR++ of Absolute Zero, where one policy proposes and solves. The metrics of each part are reported
 * under `<metric>/<domain>/<role>`.
 */
export function perRole(credit: Credit = reinforcePlusPlusCredit()): Credit {
  return {
    name: `per-role(${credit.name})`,
    needs: credit.needs,
    assign(rows) {
      const groups = groupAttempts(rows, credit.needs);
      const advantages_B_T = new Array<Float32Array>(rows.length);
      const returns_B_T = new Array<Float32Array>(rows.length);
      let hasReturns = false;
      const metrics: Record<string, number> = {};
      for (const [part, indices] of Map.groupBy(rows.keys(), (b) => partOf(rows[b]))) {
        const result = credit.assign(indices.map((b) => rows[b]));
        for (const [i, b] of indices.entries()) {
          advantages_B_T[b] = result.advantages_B_T[i];
          if (result.returns_B_T !== undefined) returns_B_T[b] = result.returns_B_T[i];
        }
        hasReturns ||= result.returns_B_T !== undefined;
        for (const [name, value] of Object.entries(result.metrics)) metrics[`${name}/${part}`] = value;
      }
      return creditResult(rows, groups, advantages_B_T, {
        ...defined({ returns_B_T: hasReturns ? returns_B_T : undefined }),
        metrics,
      });
    },
  };
}

function partOf({ domain, role }: CreditRow): string {
  return domain === undefined ? role : `${domain}/${role}`;
}
