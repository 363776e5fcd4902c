import type { Turn } from "../schema/turn.ts";

export type TurnInfo = NonNullable<Turn["info"]>;

/** Facts of several tools in one turn: texts of one name are joined line by line, other values are replaced. */
export function joinInfo(known: TurnInfo, facts: TurnInfo): TurnInfo {
  const joined = Object.entries(facts).map(([name, value]) => {
    return [name, typeof known[name] === "string" ? `${known[name]}\n${value}` : value];
  });
  return { ...known, ...Object.fromEntries(joined) };
}
