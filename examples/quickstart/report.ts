import type { EvalReport, Interval, Rollout } from "../../src/index.ts";

const share = ({ mean, low, high }: Interval) => `${mean.toFixed(2)} [${low.toFixed(2)}, ${high.toFixed(2)}]`;

/** What changed, on questions that were never trained on. */
export function table(before: EvalReport, after: EvalReport): string {
  const rows = [
    [`${after.tasks} held-out questions`, "before", "after"],
    ["answered rightly (95 %)", share(before.success), share(after.success)],
    ["turns", before.turns.toFixed(1), after.turns.toFixed(1)],
    ["tokens said", before.sampledTokens.toFixed(1), after.sampledTokens.toFixed(1)],
    ["out of turns", count(before, "max-turns"), count(after, "max-turns")],
  ];
  return rows
    .map(([name, ...cells]) => `${name.padEnd(28)}${cells.map((cell) => cell.padEnd(20)).join("")}`)
    .join("\n");
}

function count({ stops, tasks }: EvalReport, stop: string): string {
  return `${stops[stop] ?? 0} of ${tasks}`;
}

/** One episode as it went. */
export function episodeText({ task, trajectories, stop }: Rollout): string {
  const { turns, score } = trajectories[0];
  const { start, relations, answer } = task.data as { start: string; relations: string[]; answer: string };
  const lines = turns.map(
    ({ text, observation }) => `         ${text}${observation === "" ? "" : `\n           → ${observation}`}`,
  );
  const verdict = score.success ? "right" : `wrong (${stop}; it is ${answer})`;
  return [`${start} ${relations.join(" ")}?`, ...lines, `         ${verdict}`].join("\n");
}
