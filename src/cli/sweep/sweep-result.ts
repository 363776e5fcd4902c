import { z } from "zod";
import { defined } from "../../defined.ts";
import { type Interval, meanInterval } from "../../eval/index.ts";
import type { RunCatalog } from "../../store/index.ts";
import type { Screen } from "../command.ts";
import { interval } from "../number-text.ts";
import { harmless, paintFor } from "../paint.ts";
import { textTable } from "../text-table.ts";
import { type Setting, type SweepRun, settingText } from "./sweep-grid.ts";

export interface RunOutcome extends SweepRun {
  /** `not-run` where the sweep was stopped before it. */
  readonly state: "done" | "failed" | "stopped" | "not-run";
  /** Success on held-out tasks after training. */
  readonly success?: number;
  /** What a failed run said. */
  readonly error?: string;
}

export interface SettingResult {
  readonly setting: Setting;
  readonly runs: readonly RunOutcome[];
  /** Mean over seeds, and its 95 % interval where there are two or more. */
  readonly success?: { readonly mean: number; readonly low?: number; readonly high?: number };
}

export interface SweepResult {
  readonly folder: string;
  readonly settings: readonly SettingResult[];
  /** The setting with the highest mean. */
  readonly best?: Setting;
  /** Why the best may not be the best. */
  readonly caution?: string;
}

const Measured = z.object({ success: z.object({ mean: z.number() }) });

/** Held-out success after training, as the run has stored it. */
export async function successOf(runs: RunCatalog, run: string): Promise<number | undefined> {
  const reader = await runs.open(run);
  try {
    const measured = Measured.safeParse(await reader.state("eval/after"));
    return measured.success ? measured.data.success.mean : undefined;
  } finally {
    await reader.close();
  }
}

export function sweepResult(folder: string, outcomes: readonly RunOutcome[]): SweepResult {
  const bySetting = Map.groupBy(outcomes, ({ setting }) => settingText(setting));
  const settings = [...bySetting.values()].map((runs) => settingResult(runs[0].setting, runs));
  const measured = settings.filter((result) => result.success !== undefined);
  const best = measured.toSorted((a, b) => b.success!.mean - a.success!.mean)[0];
  if (best === undefined) return { folder, settings };
  const caution = cautionOf(
    best,
    measured.filter((other) => other !== best),
    settings.length - measured.length,
  );
  return { folder, settings, best: best.setting, ...defined({ caution }) };
}

function settingResult(setting: Setting, runs: readonly RunOutcome[]): SettingResult {
  const values = runs.flatMap(({ success }) => (success === undefined ? [] : [success]));
  if (values.length === 0) return { setting, runs };
  const { mean, low, high } = meanInterval(values);
  // Student's interval does not know that a share is within 0 and 1
  const bounds = values.length < 2 ? {} : { low: Math.max(0, low), high: Math.min(1, high) };
  return { setting, runs, success: { mean, ...bounds } };
}

function cautionOf(best: SettingResult, others: readonly SettingResult[], unmeasured: number): string | undefined {
  const overlapping = others.filter((other) => overlaps(best.success!, other.success!));
  const failed = best.runs.filter(({ success }) => success === undefined).length;
  const cautions = [
    ...(best.success!.low === undefined ? ["one seed says nothing about chance: use --seeds 3 or more"] : []),
    ...(best.success!.low !== undefined && overlapping.length > 0
      ? [
          `its interval overlaps with that of ${overlapping.map(({ setting }) => settingText(setting)).join("; ")}: ` +
            "these seeds do not tell them apart",
        ]
      : []),
    ...(failed > 0 ? [`${failed} of its runs have no result`] : []),
    ...(unmeasured > 0 ? [`${unmeasured} settings have no result`] : []),
  ];
  return cautions.length === 0 ? undefined : cautions.join("; ");
}

function overlaps(a: NonNullable<SettingResult["success"]>, b: NonNullable<SettingResult["success"]>): boolean {
  return (a.low ?? 0) <= (b.high ?? 1) && (b.low ?? 0) <= (a.high ?? 1);
}

export function sweepText({ folder, settings, best, caution }: SweepResult, screen: Screen): string {
  const paint = paintFor(screen);
  const heads = ["setting", "held-out success (95 %)", "seeds", "state"].map((head) => paint("bold", head));
  const rows = settings.map(({ setting, runs, success }) => {
    const done = runs.filter((run) => run.success !== undefined).length;
    const problems = runs.filter(({ state }) => state !== "done").map(({ seed, state }) => `seed ${seed} ${state}`);
    const state = problems.length === 0 ? paint("green", "done") : paint("yellow", problems.join(", "));
    return [harmless(settingText(setting)), successText(success), `${done}/${runs.length}`, state];
  });
  const failures = settings.flatMap(({ runs }) => runs.filter(({ error }) => error !== undefined));
  const errors = failures.map(({ run, error }) => `${paint("red", "failed")} ${run}: ${harmless(errorLine(error!))}\n`);
  const bestLine = best === undefined ? "" : `Best: ${harmless(settingText(best))}\n`;
  const cautionLine = caution === undefined ? "" : `${paint("yellow", "Caution")}: ${harmless(caution)}.\n`;
  return `\n${textTable([heads, ...rows], [2])}\n${errors.join("")}${bestLine}${cautionLine}Runs are in ${folder}: npx ludus runs ${folder}\n`;
}

function successText(success: SettingResult["success"]): string {
  if (success === undefined) return "-";
  const { mean, low, high } = success;
  return low === undefined || high === undefined ? mean.toFixed(2) : interval({ mean, low, high } satisfies Interval);
}

/** The line of what a process wrote that says what went wrong: not the place in the source that Node prints above it. */
export function errorLine(text: string): string {
  const lines = text.trim().split("\n");
  const telling = lines.find((line) => /^(\w*Error\b.*: |[a-z][a-z-]+: got )/.test(line));
  return (telling ?? lines[0]).slice(0, 300);
}
