import { type AboutRun, aboutRun, busyWarning } from "../../about-run.ts";
import type { BenchmarkContext } from "../../benchmark.ts";
import { coresOfOthers, readProcessorTime } from "../../child/processor-time.ts";
import { measureGemm } from "../measure.ts";
import { measureRollouts } from "./concurrent.ts";
import { measureHistory, measureTurns } from "./conversations.ts";
import type { Growth, GrowthPart } from "./records.ts";

const measures = { turns: measureTurns, rollouts: measureRollouts, history: measureHistory };

/**
 * One part, with what its figures are worth nothing without. `earlier` is the machine's rate in an earlier run on it: where other
 * programs run, what is measured now is less than what it can do, and no limit.
 */
export async function measureGrowth(part: GrowthPart, earlier: number, context: BenchmarkContext): Promise<Growth> {
  const about: AboutRun = aboutRun("scaling", ["--only", part], context.root);
  const warning = busyWarning(about);
  if (warning !== undefined) context.progress(warning);
  const rates = (await measureGemm(context)).map(({ gigaflops }) => gigaflops);
  const machineGigaflops = Math.max(earlier, ...rates);
  const [started, before] = [performance.now(), readProcessorTime(process.pid)];
  const points = await measures[part](context);
  const [seconds, after] = [(performance.now() - started) / 1000, readProcessorTime(process.pid)];
  const others = before && after ? coresOfOthers(before, after, seconds) : 0;
  const versions = { node: process.versions.node };
  return { [part]: { about, versions, coresOfOthers: others, machineGigaflops, points } };
}
