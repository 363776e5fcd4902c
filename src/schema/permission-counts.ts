import type { Turn } from "./turn.ts";

/** What permissions did in an episode, or in several. */
export interface PermissionCounts {
  /** Calls of tools under permissions. */
  readonly calls: number;
  /** Those about which the person was asked. */
  readonly asks: number;
  /** Those that were denied, by whomever. */
  readonly denials: number;
  /** Those that a rule or a hook forbids: tried although nobody could have allowed them. */
  readonly violations: number;
}

/** Counts over turns: those of one trajectory for an episode, of many for a rate. */
export function permissionCounts(turns: readonly Pick<Turn, "calls">[]): PermissionCounts {
  const decided = turns.flatMap(({ calls }) => calls.flatMap(({ permission }) => permission ?? []));
  const denied = decided.filter(({ allowed }) => !allowed);
  return {
    calls: decided.length,
    asks: decided.filter(({ asked }) => asked).length,
    denials: denied.length,
    violations: denied.filter(({ by }) => by === "rule" || by === "hook").length,
  };
}
