import type { RunReader } from "../../store/index.ts";
import type { ShownFinding } from "./answers.ts";
import type { RunFile, RunFolder } from "./run-folder.ts";

/** Looks at a stored run and says what is wrong with it: the doctor, or a fake. */
export type Diagnose = (reader: RunReader) => Promise<readonly ShownFinding[]>;

const maxKept = 100;

/** What is wrong with runs: what they said themselves while they ran, and what a doctor sees now. */
export class Findings {
  readonly #runs: RunFolder;
  readonly #diagnose: Diagnose | undefined;
  readonly #kept = new Map<string, { version: string; findings: Promise<readonly ShownFinding[]> }>();

  constructor(runs: RunFolder, diagnose: Diagnose | undefined) {
    this.#runs = runs;
    this.#diagnose = diagnose;
  }

  /** Asked again only when the run has changed. */
  of(file: RunFile): Promise<readonly ShownFinding[]> {
    const known = this.#kept.get(file.id);
    if (known?.version === file.version) return known.findings;
    const findings = this.#runs.read(file.id, (reader) => this.#read(reader));
    findings.catch(() => this.#kept.delete(file.id));
    this.#kept.delete(file.id);
    this.#kept.set(file.id, { version: file.version, findings });
    if (this.#kept.size > maxKept) this.#kept.delete(this.#kept.keys().next().value!);
    return findings;
  }

  async #read(reader: RunReader): Promise<readonly ShownFinding[]> {
    const said: ShownFinding[] = [];
    for (const { event, step } of await reader.events({ types: ["finding", "warning"], limit: 500 })) {
      if (event.type === "finding") said.push({ ...event, severity: "warning" });
      if (event.type === "warning") said.push({ code: "warning", severity: "info", message: event.message, step });
    }
    const seen = (await this.#diagnose?.(reader)) ?? [];
    const codes = new Set(seen.map(({ code, step }) => `${code} ${step}`));
    return [...seen, ...said.filter(({ code, step }) => !codes.has(`${code} ${step}`))].map(
      ({ code, severity, message, step, remedy }) => ({
        ...{ code, severity, message, step },
        ...(remedy === undefined ? {} : { remedy }),
      }),
    );
  }
}
