import type { Trajectory } from "../schema/index.ts";

/** By name, the `kind` of what was recorded with a trajectory's turns; empty where it has none. Of each name the first turn counts. */
export function annotationKindsOf({ turns }: Trajectory): Map<string, string> {
  const kinds = new Map<string, string>();
  for (const [name, value] of turns.flatMap(({ annotations = {} }) => Object.entries(annotations))) {
    if (value === undefined || kinds.has(name)) continue;
    const hasKind = typeof value === "object" && value !== null && "kind" in value && typeof value.kind === "string";
    kinds.set(name, hasKind ? value.kind : "");
  }
  return kinds;
}
