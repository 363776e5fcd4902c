import { Checkpoints } from "../checkpoint/checkpoints.ts";
import { LudusError } from "../errors.ts";
import { type KnownOptions, refuseOtherValue, refuseUnknownOptions } from "../known-options.ts";
import type { Finding } from "../monitor/doctor/detector.ts";
import { DoctorStop, liveDoctor, refuseOtherCodes } from "../monitor/doctor/live-doctor.ts";
import { addressedRuns, type RunCatalog } from "../store/index.ts";
import type { Algorithm } from "./algorithm.ts";
import { fromRun } from "./from-run.ts";
import type { TrainConfig, TrainResult } from "./train.ts";
import { train } from "./train-sync.ts";

export interface RemedyOptions {
  /** What to go on with, by the code of a finding: `{ "echo-trap": starpoS() }`. Each is used once. */
  remedies: Readonly<Record<string, Algorithm>>;
  /** How bad a finding must be; a warning by default. */
  stopAt?: "warning" | "error";
  /** Goes on from a checkpoint saved well before the first sign of what was found (the default), or from where the run stands. */
  from?: "before" | "here";
}

const knownRemedyOptions: KnownOptions<RemedyOptions> = { remedies: true, stopAt: true, from: true };

/** Steps right before the first sign whose checkpoints are not trusted. */
const distance = 10;

/** One switch: what was found, the checkpoint that was gone back to, and the run that went on from there. */
export interface RemedySwitch {
  readonly finding: Finding;
  readonly step: number;
  readonly run: string;
  readonly algorithm: string;
}

export interface RemediedResult extends TrainResult {
  readonly switches: readonly RemedySwitch[];
}

/**
 * Trains, and where the doctor finds something for which there is a remedy, goes back to a checkpoint from before and goes on with the
 * remedy's algorithm, in a run of its own (`runs/first-2`). A run that has none yet is resumed when it is called again; one that was
 * switched is refused.
 *
 *     await trainWithRemedies(
 *       { env, policy, algorithm: starpo(), steps: 400, run: "runs/first" },
 *       { remedies: { "echo-trap": starpoS() } },
 *     );
 */
export async function trainWithRemedies<Data>(
  config: TrainConfig<Data> & { run: string },
  options: RemedyOptions,
): Promise<RemediedResult> {
  refuseUnknownOptions("trainWithRemedies()", options, knownRemedyOptions);
  checkOptions(config, options);
  const { remedies, stopAt = "warning", from = "before" } = options;
  const { store: runs = addressedRuns() } = config;
  await refuseSwitched(runs, config.run);
  // fine enough to find a checkpoint close to where a finding begins
  const save = { every: 10, retain: 50, ...config.save };
  const switches: RemedySwitch[] = [];
  const used = new Set<string>();
  let current: TrainConfig<Data> & { run: string } = { ...config, save };
  for (;;) {
    const stopOn = Object.keys(remedies).filter((code) => !used.has(code));
    const doctor = liveDoctor({ every: 1, stopOn, stopAt, config: { algorithm: current.algorithm } });
    const result = await train<Data>({
      ...current,
      monitors: [...(config.monitors ?? []), doctor.monitor],
      signal: config.signal === undefined ? doctor.signal : AbortSignal.any([config.signal, doctor.signal]),
    });
    const { reason } = doctor.signal;
    if (result.reason !== "doctor" || !(reason instanceof DoctorStop)) return { ...result, switches };
    const { finding } = reason;
    const steps = new Checkpoints(runs.checkpointDirectory(current.run)).steps();
    const before = steps.findLast((saved) => saved <= finding.step - distance) ?? steps[0]!;
    const step = from === "before" ? before : steps.at(-1)!;
    const algorithm = remedies[finding.code]!;
    const run = `${config.run}-${switches.length + 2}`;
    used.add(finding.code);
    switches.push({ finding, step, run, algorithm: algorithm.name });
    const total = (current.warmStart?.steps ?? 0) + current.steps;
    current = {
      ...current,
      ...{ run, algorithm, policy: result.policy, steps: Math.max(0, total - step - 1) },
      warmStart: fromRun(current.run, { step }),
    };
  }
}

/** Begun again, the first run would go on without its remedy, and what was done since would be left behind. */
async function refuseSwitched(runs: RunCatalog, run: string): Promise<void> {
  const next = `${run}-2`;
  if ((await runs.info(next)) === undefined) return;
  throw new LudusError("run-was-switched", {
    got: `${run}, which ${next} goes on from`,
    expected: "a run that was not switched yet",
    hint: `Go on with ${next} in train(), with its own algorithm and warmStart: fromRun("${run}", { step }); or name another run.`,
  });
}

function checkOptions({ run }: { readonly run?: string }, { remedies, from, stopAt }: RemedyOptions): void {
  refuseOtherValue("from of trainWithRemedies", from ?? "before", ["before", "here"]);
  refuseOtherValue("stopAt of trainWithRemedies", stopAt ?? "warning", ["warning", "error"]);
  const problem =
    typeof run !== "string"
      ? { got: "no run", expected: "run: a folder, whose checkpoints are gone back to" }
      : Object.keys(remedies ?? {}).length === 0
        ? { got: "no remedies", expected: 'an algorithm by the code of a finding, such as { "echo-trap": starpoS() }' }
        : undefined;
  if (problem !== undefined) throw new LudusError("bad-config", problem);
  refuseOtherCodes("remedies of trainWithRemedies", Object.keys(remedies));
}
