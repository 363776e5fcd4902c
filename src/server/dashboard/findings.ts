import { Checkpoints } from "../../checkpoint/checkpoints.ts";
import { damagedCheckpoints } from "../../checkpoint/damaged-checkpoints.ts";
import { defined } from "../../defined.ts";
import { detect } from "../../monitor/doctor/diagnose.ts";
import { storedView } from "../../monitor/doctor/stored-view.ts";
import type { RunInfo, RunReader } from "../../store/index.ts";
import type { ShownFinding } from "./answers.ts";
import type { OpenRuns } from "./open-runs.ts";

/** Looks at a stored run and says what is wrong with it: the doctor, or a fake. */
export type Diagnose = (reader: RunReader, checkpoints: Checkpoints) => Promise<readonly ShownFinding[]>;

const maxKept = 100;
/** A run that goes on changes all the time; what is wrong with it does not. */
const freshMs = 10_000;

/** All curves and a small sample of what happened: enough for a page, `ludus doctor` looks at more. */
export const lookBriefly: Diagnose = async (reader, checkpoints) => [
  ...damagedCheckpoints(checkpoints, "sizes"),
  ...detect(await storedView(reader, { sampledSteps: 8, maxTrajectories: 1000, maxPoints: 1000 })),
];

interface Kept {
  readonly version: string;
  readonly asked: number;
  readonly findings: Promise<readonly ShownFinding[]>;
}

/** What is wrong with runs: what they said themselves while they ran, and what a doctor sees now. */
export class Findings {
  readonly #runs: OpenRuns;
  readonly #diagnose: Diagnose;
  readonly #now: () => number;
  readonly #kept = new Map<string, Kept>();

  constructor(runs: OpenRuns, diagnose: Diagnose, now: () => number) {
    this.#runs = runs;
    this.#diagnose = diagnose;
    this.#now = now;
  }

  /** Asked again only when the run has changed, and not for every change. */
  of(run: RunInfo): Promise<readonly ShownFinding[]> {
    const known = this.#kept.get(run.id);
    const asked = this.#now();
    if (known !== undefined && (known.version === run.version || asked - known.asked < freshMs)) return known.findings;
    const findings = this.#runs.read(run.id, (reader) => this.#read(run.id, reader));
    findings.catch(() => this.#kept.delete(run.id));
    this.#kept.delete(run.id);
    this.#kept.set(run.id, { version: run.version, asked, findings });
    if (this.#kept.size > maxKept) this.#kept.delete(this.#kept.keys().next().value!);
    return findings;
  }

  async #read(run: string, reader: RunReader): Promise<readonly ShownFinding[]> {
    const said: ShownFinding[] = [];
    for (const { event, step } of await reader.events({ types: ["finding", "warning"], limit: 500 })) {
      if (event.type === "finding") said.push({ ...event, severity: "warning" });
      if (event.type === "warning") said.push({ code: "warning", severity: "info", message: event.message, step });
    }
    const seen = await this.#diagnose(reader, new Checkpoints(this.#runs.catalog.checkpointDirectory(run)));
    const codes = new Set(seen.map(({ code, step }) => `${code} ${step}`));
    return [...seen, ...said.filter(({ code, step }) => !codes.has(`${code} ${step}`))].map(
      ({ code, severity, message, step, remedy }) => ({
        code,
        severity,
        message,
        step,
        ...defined({ remedy }),
      }),
    );
  }
}
