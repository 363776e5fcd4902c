import { type KnownOptions, refuseOtherValue, refuseUnknownOptions } from "../../known-options.ts";
import type { Monitor } from "../monitor.ts";
import type { Finding, Severity } from "./detector.ts";
import { builtinDetectors } from "./detectors/index.ts";
import { detect } from "./diagnose.ts";
import { History } from "./history.ts";

export interface LiveDoctorOptions {
  /** Looks at the run after every so many steps. */
  every: number;
  /** Codes of findings that end the run. */
  stopOn: readonly string[];
  /** How bad such a finding must be. */
  stopAt: Exclude<Severity, "info">;
  /** Called once for each code, and again when it has become worse. */
  onFinding: (finding: Finding) => void;
  /** The run's configuration, or what of it is known: a group size of 1 is no trap. */
  config: unknown;
}

const knownLiveDoctorOptions: KnownOptions<LiveDoctorOptions> = {
  every: true,
  stopOn: true,
  stopAt: true,
  onFinding: true,
  config: true,
};

/** Why the doctor's signal was aborted. */
export class DoctorStop extends Error {
  override readonly name = "DoctorStop";
  readonly finding: Finding;

  constructor(finding: Finding) {
    super(`${finding.code}: ${finding.message}`);
    this.finding = finding;
  }
}

export interface LiveDoctor {
  readonly monitor: Monitor;
  /** Aborted with a `DoctorStop` when a finding of `stopOn` turns up. */
  readonly signal: AbortSignal;
  /** What was found so far, the latest of each code. */
  readonly findings: readonly Finding[];
}

const defaults: LiveDoctorOptions = { every: 5, stopOn: [], stopAt: "error", onFinding: () => {}, config: undefined };
const weight: Readonly<Record<Severity, number>> = { info: 0, warning: 1, error: 2 };

/**
 * The detectors on a run that goes on, as far as metrics tell.
 *
 *     const doctor = liveDoctor({ stopOn: ["echo-trap"], config: { algorithm } });
 *     await train({ …, monitors: [doctor.monitor], signal: doctor.signal });
 */
export function liveDoctor(options: Partial<LiveDoctorOptions> = {}): LiveDoctor {
  refuseUnknownOptions("liveDoctor", options, knownLiveDoctorOptions);
  const { every, stopOn, stopAt, onFinding, config } = { ...defaults, ...options };
  refuseOtherCodes("stopOn of liveDoctor", stopOn);
  const history = new History(config);
  const controller = new AbortController();
  const found = new Map<string, Finding>();
  const told = new Map<string, number>();
  const look = () => {
    for (const finding of detect(history)) {
      found.set(finding.code, finding);
      if (weight[finding.severity] > (told.get(finding.code) ?? -1)) {
        told.set(finding.code, weight[finding.severity]);
        onFinding(finding);
      }
      const isBad = weight[finding.severity] >= weight[stopAt];
      if (isBad && stopOn.includes(finding.code) && !controller.signal.aborted)
        controller.abort(new DoctorStop(finding));
    }
  };
  let steps = 0;
  return {
    signal: controller.signal,
    get findings() {
      return [...found.values()];
    },
    monitor: {
      name: "doctor",
      record(event) {
        history.add(event);
        if (event.type === "eval-end" || (event.type === "step-end" && ++steps % every === 0)) look();
      },
    },
  };
}

/** A code that no detector has would never be found. */
export function refuseOtherCodes(what: string, codes: readonly string[]): void {
  const known = builtinDetectors.map(({ code }) => code);
  for (const code of codes) refuseOtherValue(what, code, known);
}
