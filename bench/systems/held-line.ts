import { leastSeeds, type Verdict } from "../../src/recipe/claim.ts";

/** The first line of a recipe's page: how many claims hold, then those that do not, so that nobody has to look for failures. */
export function heldLine(verdicts: readonly Verdict[]): string {
  const isOpen = ({ seeds }: Verdict) => seeds < leastSeeds;
  const held = verdicts.filter(({ holds }) => holds).length;
  const failed = verdicts.filter((verdict) => !verdict.holds && !isOpen(verdict));
  const open = verdicts.filter(isOpen);
  const first = [
    `${held} of ${verdicts.length} published claims hold here`,
    ...(failed.length === 0 ? [] : [`${failed.length} ${failed.length === 1 ? "does" : "do"} not`]),
    ...(open.length === 0 ? [] : [`${open.length} not run yet`]),
  ];
  const listed = (heading: string, some: readonly Verdict[]) =>
    some.length === 0 ? [] : [`${heading}: ${some.map(({ claim }) => quoted(claim.statement)).join("; ")}.`];
  return [
    `**${first.join("; ")}.**`,
    ...listed("Not held", failed),
    // where nothing was run, the list would be that of all claims, which stands below
    ...listed("Not run yet", open.length === verdicts.length ? [] : open),
  ].join(" ");
}

const quoted = (statement: string) => `“${statement.replace(/\.$/, "")}”`;
