import type { QueueStatus } from "../queue/queue.ts";
import type { Screen } from "./command.ts";
import { harmless, paintFor } from "./paint.ts";
import { textTable } from "./text-table.ts";

/** As tables: who is there, and how far the work of each run is. */
export function clusterText({ members, runs }: QueueStatus, screen: Screen): string {
  const paint = paintFor(screen);
  const bold = (heads: readonly string[]) => heads.map((head) => paint("bold", head));
  const memberRows = members.map(({ kind, name, host, pid, run = "", groups, age, silent, details }) => [
    ...[
      kind,
      harmless(name),
      harmless(`${host}:${pid}`),
      harmless(run),
      String(groups),
      (groups / Math.max(age, 1)).toFixed(2),
    ],
    ...[silent > 60 ? paint("red", `${Math.round(silent)} s`) : `${Math.round(silent)} s`, harmless(details)],
  ]);
  const runRows = runs.map(({ run, waiting, leased, finished, failed, groupsPerSecond }) => [
    ...[harmless(run), String(waiting), String(leased), String(finished)],
    ...[failed > 0 ? paint("red", String(failed)) : "0", groupsPerSecond.toFixed(1)],
  ]);
  const heads = ["member", "name", "host", "run", "groups", "groups/s", "silent", "details"];
  const shown =
    members.length === 0
      ? "Nobody is there. ludus worker starts one.\n"
      : textTable([bold(heads), ...memberRows], [4, 5, 6]);
  if (runs.length === 0) return shown;
  const table = textTable(
    [bold(["run", "waiting", "leased", "finished", "failed", "groups/s"]), ...runRows],
    [1, 2, 3, 4, 5],
  );
  return `${shown}\n${table}`;
}
