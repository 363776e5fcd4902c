import { availableParallelism, cpus } from "node:os";
import { type Pages, readRecord, writePages, writeRecord } from "../../bench/pages.ts";
import { meanInterval } from "../../src/eval/index.ts";
import type { Experiment, Outcome } from "./experiment.ts";

interface Entry {
  readonly title: string;
  readonly question: string;
  readonly variants: Readonly<Record<string, readonly Outcome[]>>;
}

interface Learned {
  readonly machine: string;
  readonly entries: readonly Entry[];
}

/** Keeps what was measured, and writes the page anew from everything that is kept. */
export function keep({ title, question }: Experiment, outcomes: ReadonlyMap<string, readonly Outcome[]>): void {
  const kept = readRecord<Learned>(".", "learning")?.entries ?? [];
  const entry = { title, question, variants: Object.fromEntries(outcomes) };
  const machine = `${cpus()[0]?.model ?? "a processor"}, ${availableParallelism()} cores`;
  writeRecord(".", "learning", { machine, entries: [...kept.filter((other) => other.title !== title), entry] });
  writePages(".", learningPages("."));
}

export function learningPages(root: string): Pages {
  const learned = readRecord<Learned>(root, "learning");
  if (learned === undefined) return {};
  const page = `# Methods side by side

Written by \`npm run test:slow -- learning\`: models of about 0.3M parameters from random weights, on ${learned.machine}. Success is on held-out tasks; "before"
is after the warm start, or without one. Means over seeds with 95 % intervals (Student's t), and each seed. Variants of one table begin with the
same weights for each seed. These settings are those of the slow tests, which must end in minutes; [shipped environments, learned](worlds.md) has the settings that
learn best.

${learned.entries.map(section).join("\n")}`;
  return { "docs/results/learning.md": page };
}

function section({ title, question, variants }: Entry): string {
  const rows = Object.entries(variants).map(([name, outcomes]) => row(name, outcomes));
  return `## ${title}

${question}

| | before | after | each seed, after | training, last steps | rollouts | seconds |
|---|--:|--:|---|--:|--:|--:|
${rows.join("\n")}
`;
}

function row(name: string, outcomes: readonly Outcome[]): string {
  const of = (field: keyof Outcome) => meanInterval(outcomes.map((outcome) => outcome[field]));
  const share = ({ mean, low, high }: ReturnType<typeof of>) =>
    `${mean.toFixed(2)} [${Math.max(0, low).toFixed(2)}, ${Math.min(1, high).toFixed(2)}]`;
  const each = outcomes.map(({ after }) => after.toFixed(2)).join(" ");
  return `| ${name} | ${share(of("before"))} | ${share(of("after"))} | ${each} | ${of("training").mean.toFixed(2)} | ${of("rollouts").mean.toFixed(0)} | ${of("seconds").mean.toFixed(0)} |`;
}

/** Mean of a field over seeds. */
export function meanOf(outcomes: readonly Outcome[], field: keyof Outcome): number {
  return outcomes.reduce((sum, outcome) => sum + outcome[field], 0) / outcomes.length;
}
