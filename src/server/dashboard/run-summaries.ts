import { z } from "zod";
import { defined } from "../../defined.ts";
import { errorText } from "../../errors.ts";
import { metric } from "../../schema/metric-names.ts";
import type { RunReader } from "../../store/index.ts";
import type { RunStatus, RunSummary } from "./answers.ts";
import type { RunFile, RunFolder } from "./run-folder.ts";

const curvePoints = 40;
const silentMs = 120_000;
const maxKept = 5000;

const Described = z.object({
  env: z.object({ name: z.string().optional() }).optional(),
  algorithm: z.object({ name: z.string().optional() }).optional(),
  warmStart: z.object({ steps: z.number().optional() }).optional(),
  steps: z.number().optional(),
});

type Kept = Omit<RunSummary, "status" | "changed"> & { readonly status: RunStatus | undefined };

/** Few small reads for each run, once for each time it changes. */
export class RunSummaries {
  readonly #runs: RunFolder;
  readonly #wallClock: () => number;
  readonly #kept = new Map<string, { version: string; summary: Kept }>();

  constructor(runs: RunFolder, wallClock: () => number) {
    this.#runs = runs;
    this.#wallClock = wallClock;
  }

  async of(file: RunFile): Promise<RunSummary> {
    const known = this.#kept.get(file.id);
    const summary = known?.version === file.version ? known.summary : await this.#read(file);
    this.#kept.delete(file.id);
    this.#kept.set(file.id, { version: file.version, summary });
    if (this.#kept.size > maxKept) this.#kept.delete(this.#kept.keys().next().value!);
    const isSilent = this.#wallClock() - file.changed > silentMs;
    return { ...summary, changed: file.changed, status: summary.status ?? (isSilent ? "silent" : "running") };
  }

  async #read(file: RunFile): Promise<Kept> {
    try {
      return await this.#runs.read(file.id, (reader) => readSummary(reader, file.id));
    } catch (error) {
      // one damaged run must not hide the others
      const problem = errorText(error);
      return { id: file.id, status: undefined, steps: 0, curve: [], problem };
    }
  }
}

async function readSummary(reader: RunReader, id: string): Promise<Kept> {
  const [rewards, successes] = [await reader.series(metric.reward, { maxPoints: curvePoints }), metric.success];
  const latest = await reader.latestStep();
  const from = rewards.at(-1)?.step ?? latest ?? 0;
  const [success] = await reader.series(successes, { from, maxPoints: 1 });
  const [reward] = await reader.series(metric.reward, { from, maxPoints: 1 });
  const [first] = await reader.events({ limit: 1 });
  const described = Described.safeParse(await reader.config());
  const { env, algorithm, warmStart, steps } = described.success ? described.data : {};
  return {
    id,
    status: await endOf(reader),
    steps: latest === undefined ? 0 : latest + 1,
    curve: rewards.map(({ value }) => finite(value)),
    ...defined({
      started: first === undefined ? undefined : first.time,
      env: env?.name === undefined ? undefined : env.name,
      algorithm: algorithm?.name === undefined ? undefined : algorithm.name,
      plannedSteps: steps === undefined ? undefined : steps + (warmStart?.steps ?? 0),
      reward: reward === undefined ? undefined : finite(reward.value),
      success: success === undefined ? undefined : finite(success.value),
    }),
  };
}

/** How it ended; undefined when it did not, or went on after that. */
async function endOf(reader: RunReader): Promise<RunStatus | undefined> {
  const end = (await reader.events({ types: ["run-end"] })).at(-1);
  if (end?.event.type !== "run-end") return undefined;
  const [later] = await reader.events({ after: end.order, limit: 1 });
  return later === undefined ? end.event.reason : undefined;
}

export function finite(value: number): number | null {
  return Number.isFinite(value) ? value : null;
}
