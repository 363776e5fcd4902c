import type { ArmRecord } from "../../src/recipe/claim.ts";

/** In one line how arms were made, as far as their records say so; empty where they say nothing. */
export function madeWith(records: readonly ArmRecord[]): string {
  const all = (key: string) => [...new Set(records.flatMap(({ about }) => about?.[key] ?? []))];
  const listed = (key: string, before = "", after = "") => {
    const values = all(key);
    return values.length === 0 ? [] : [`${before}${values.join(", ")}${after}`];
  };
  const parameters = all("parameters").map(Number);
  const days = [...new Set(all("date").map((date) => String(date).slice(0, 10)))].sort();
  return [
    ...listed("engine"),
    ...listed("device", "on "),
    ...(parameters.length === 0 ? [] : [`${millions(parameters)} parameters`]),
    ...listed("processor"),
    ...listed("cores", "", " cores"),
    ...listed("ludus", "ludus "),
    ...listed("commit", "commit "),
    ...(days.length === 0 ? [] : [days.length === 1 ? days[0] : `${days[0]} to ${days.at(-1)}`]),
  ].join(", ");
}

function millions(parameters: readonly number[]): string {
  const [least, most] = [Math.min(...parameters), Math.max(...parameters)].map((count) => (count / 1e6).toFixed(2));
  return least === most ? `${least}M` : `${least}M to ${most}M`;
}
