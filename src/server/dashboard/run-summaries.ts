import { z } from "zod";
import { defined } from "../../defined.ts";
import { errorText } from "../../errors.ts";
import { metric } from "../../schema/metric-names.ts";
import type { RunInfo, RunReader } from "../../store/index.ts";
import type { RunStatus, RunSummary } from "./answers.ts";
import { readEvaluations } from "./evaluations.ts";
import { finite } from "./finite.ts";
import type { OpenRuns } from "./open-runs.ts";

const curvePoints = 40;
const silentMs = 120_000;
const maxKept = 5000;

const Described = z.object({
  env: z.object({ name: z.string().optional() }).optional(),
  algorithm: z.object({ name: z.string().optional() }).optional(),
  warmStart: z.object({ name: z.string().default("warm start"), steps: z.number() }).optional(),
  steps: z.number().optional(),
  parent: z
    .object({ run: z.string(), step: z.number(), uid: z.string().exactOptional(), weights: z.string().exactOptional() })
    .optional(),
});

type Kept = Omit<RunSummary, "status" | "changed">;

/** Few small reads for each run, once for each time it changes. */
export class RunSummaries {
  readonly #runs: OpenRuns;
  readonly #wallClock: () => number;
  readonly #kept = new Map<string, { version: string; summary: Kept }>();

  constructor(runs: OpenRuns, wallClock: () => number) {
    this.#runs = runs;
    this.#wallClock = wallClock;
  }

  async of(run: RunInfo): Promise<RunSummary> {
    const known = this.#kept.get(run.id);
    const summary = known?.version === run.version ? known.summary : await this.#read(run);
    this.#kept.delete(run.id);
    this.#kept.set(run.id, { version: run.version, summary });
    if (this.#kept.size > maxKept) this.#kept.delete(this.#kept.keys().next().value!);
    const isSilent = this.#wallClock() - run.changed > silentMs;
    const status: RunStatus = run.ended ?? (!run.isWritten ? "interrupted" : isSilent ? "silent" : "running");
    return { ...summary, changed: run.changed, status };
  }

  async #read(run: RunInfo): Promise<Kept> {
    if (run.problem !== undefined) return unreadable(run.id, run.problem);
    try {
      return await this.#runs.read(run.id, (reader) => readSummary(reader, run));
    } catch (error) {
      // one damaged run must not hide the others
      return unreadable(run.id, errorText(error));
    }
  }
}

function unreadable(id: string, problem: string): Kept {
  return { id, steps: 0, curve: [], problem };
}

/** One step is noise: so many are averaged. */
const recentSteps = 10;

async function readSummary(reader: RunReader, { id, started }: RunInfo): Promise<Kept> {
  const rewards = await reader.series(metric.reward, { maxPoints: curvePoints });
  // an evaluation before the first step is stored with it
  const isBegun = (await reader.metricNames()).some((name) => !name.startsWith("eval/"));
  const latest = isBegun ? await reader.latestStep() : undefined;
  const last = rewards.at(-1)?.step ?? latest ?? 0;
  const from = Math.max(0, last - recentSteps + 1);
  const [success] = await reader.series(metric.success, { from, maxPoints: 1 });
  const [reward] = await reader.series(metric.reward, { from, maxPoints: 1 });
  const described = Described.safeParse(await reader.config());
  const { env, algorithm, warmStart, steps, parent } = described.success ? described.data : {};
  const evaluations = await readEvaluations(reader);
  return {
    id,
    steps: latest === undefined ? 0 : latest + 1,
    curve: rewards.map(({ value }) => finite(value)),
    ...defined({
      started,
      parent,
      env: env?.name,
      algorithm: algorithm?.name,
      warmStart,
      plannedSteps: steps === undefined ? undefined : steps + (warmStart?.steps ?? 0),
      reward: reward === undefined ? undefined : finite(reward.value),
      success: success === undefined ? undefined : finite(success.value),
      heldOut: evaluations.length === 0 ? undefined : { first: evaluations[0], last: evaluations.at(-1)! },
    }),
  };
}
