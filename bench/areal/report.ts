import { type AboutRun, aboutLine } from "../about-run.ts";
import { type Pages, readRecord } from "../pages.ts";
import { type ArmRecord, stalenesses } from "./arms.ts";

export interface ArealResults {
  readonly about: AboutRun;
  readonly versions: Readonly<Record<string, string>>;
  readonly settings: Readonly<Record<string, number>>;
  readonly records: readonly ArmRecord[];
}

export function arealPages(root: string): Pages {
  const results = readRecord<ArealResults>(root, "areal");
  return results === undefined ? {} : { "docs/results/areal.md": arealMarkdown(results) };
}

/** The page: nothing on it but what the records say. */
export function arealMarkdown({ about, versions, settings, records }: ArealResults): string {
  const seeds = [...new Set(records.map(({ seed }) => seed))];
  const of = (matches: (record: ArmRecord) => boolean) => records.filter(matches);
  const success = (rows: readonly ArmRecord[]) =>
    rows.length === 0
      ? ""
      : `${mean(rows, "after").toFixed(2)} (${rows.map(({ after }) => after.toFixed(2)).join(", ")})`;
  const rate = (rows: readonly ArmRecord[]) => (rows.length === 0 ? "" : mean(rows, "rolloutsPerSecond").toFixed(0));
  const table = stalenesses.map((staleness) => {
    const row = of((each) => each.staleness === staleness && each.interrupt === "recompute");
    const [naive, decoupled] = (["naive", "decoupled"] as const).map((method) =>
      row.filter((each) => each.method === method),
    );
    const cells = [
      staleness ?? "∞",
      mean(row, "age").toFixed(1),
      success(naive),
      success(decoupled),
      rate(naive),
      rate(decoupled),
    ];
    return `| ${cells.join(" | ")} |`;
  });
  const modes = (["recompute", "keep", "wait"] as const).map((interrupt) => {
    const row = of((each) => each.staleness === 4 && each.method === "decoupled" && each.interrupt === interrupt);
    return `| ${interrupt} | ${success(row)} | ${rate(row)} |`;
  });
  const { digits, base, steps, tasksPerStep, groupSize, learningRate, miniBatches, heldOut } = settings;
  return `# AReaL's table, small

Made by \`npm run bench -- areal\` from \`bench/results/areal.json\`. A lock of ${digits} digits of base ${base}, a policy of 0.3M parameters that imitated an expert who errs in 60 of 100 digits,
then ${steps} steps of ${tasksPerStep} tasks with ${groupSize} attempts each at a rate of ${learningRate}, ${miniBatches} mini-batches a step. Success on ${heldOut} held-out tasks: mean over seeds ${seeds.join(", ")}, and each of them.
Before: ${mean(records, "before").toFixed(2)}. *Naive* clips the ratio to the policy that sampled; *decoupled* clips the one to the policy before the update and weighs by the rest.
Trainer and sampler share the processor and nothing waits for a tool, so that rates say little about machines where they do not.

| staleness | mean age of tokens, steps | naive | decoupled | rollouts a second, naive | decoupled |
|--:|--:|--:|--:|--:|--:|
${table.join("\n")}

What an update does to a sequence that is being sampled, decoupled, staleness 4:

| \`interrupt\` | success | rollouts a second |
|---|--:|--:|
${modes.join("\n")}

${aboutLine(about, versions, 0)}
`;
}

function mean(rows: readonly ArmRecord[], field: "before" | "after" | "rolloutsPerSecond" | "age"): number {
  return rows.reduce((sum, row) => sum + row[field], 0) / Math.max(1, rows.length);
}
