import { Checkpoints } from "../../checkpoint/checkpoints.ts";
import { damagedCheckpoints } from "../../checkpoint/damaged-checkpoints.ts";
import { defined } from "../../defined.ts";
import { detect } from "../../monitor/doctor/diagnose.ts";
import { storedView } from "../../monitor/doctor/stored-view.ts";
import type { RunInfo, RunReader } from "../../store/index.ts";
import type { FindingCounts, ShownFinding } from "./answers.ts";
import type { OpenRuns } from "./open-runs.ts";

/** Looks at a stored run and says what is wrong with it: the doctor, or a fake. */
export type Diagnose = (reader: RunReader, checkpoints: Checkpoints) => Promise<readonly DiagnosedFinding[]>;

export type DiagnosedFinding = Omit<ShownFinding, "since"> & { readonly since?: number };

const maxKept = 5000;
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

  /** Whether `of` answers without a look at the run. */
  isKnown(run: RunInfo): boolean {
    return this.#kept.get(run.id)?.version === run.version;
  }

  /** None for a run that cannot be read: its row says why. */
  async counts(run: RunInfo): Promise<Omit<FindingCounts, "run">> {
    const found = await this.of(run).catch(() => []);
    const count = (wanted: ShownFinding["severity"]) => found.filter(({ severity }) => severity === wanted).length;
    return { errors: count("error"), warnings: count("warning") };
  }

  async #read(run: string, reader: RunReader): Promise<readonly ShownFinding[]> {
    const said: ShownFinding[] = [];
    for (const { event, step } of await reader.events({ types: ["finding", "warning"], limit: 500 })) {
      if (event.type === "finding") said.push({ ...event, severity: "warning", since: event.step });
      if (event.type !== "warning") continue;
      said.push({ code: "warning", severity: "info", message: event.message, step, since: step });
    }
    return merged(await this.#diagnose(reader, new Checkpoints(this.#runs.catalog.checkpointDirectory(run))), said);
  }
}

/** What the doctor sees now, begun where the run itself said so first; and what the run said that is over. */
function merged(seen: readonly DiagnosedFinding[], said: readonly ShownFinding[]): ShownFinding[] {
  const firstSaid = new Map(said.toReversed().map(({ code, step }) => [code, step]));
  const codes = new Set(seen.map(({ code }) => code));
  const now = seen.map((finding) => {
    const since = Math.min(finding.since ?? finding.step, firstSaid.get(finding.code) ?? finding.step);
    return { ...finding, since };
  });
  return [...now, ...joined(said.filter(({ code }) => !codes.has(code)))].map(
    ({ code, severity, message, step, since, remedy }) => ({
      ...{ code, severity, message, step, since },
      ...defined({ remedy }),
    }),
  );
}

/** The same words said several times are one finding, from the first step to the last. */
function joined(said: readonly ShownFinding[]): ShownFinding[] {
  return [...Map.groupBy(said, ({ code, message }) => `${code} ${message}`).values()].map((same) => {
    return { ...same[0], step: same.at(-1)!.step };
  });
}
