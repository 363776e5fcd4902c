import { existsSync, mkdirSync, readdirSync, renameSync, rmSync } from "node:fs";
import { join } from "node:path";
import type { Engine } from "../engine/engine.ts";

const folderName = (step: number) => `step-${String(step).padStart(6, "0")}`;
const folderPattern = /^step-(\d{6,})$/;

/**
 * The checkpoints of a run, one folder for each step that was saved. A folder has its name only when all of it is written,
 * so whatever is there under a name is whole; what a crash left half-written is thrown away at the next save.
 */
export class Checkpoints {
  readonly #directory: string;

  constructor(runDirectory: string) {
    this.#directory = join(runDirectory, "checkpoints");
  }

  /** Steps that were saved, in order. */
  steps(): number[] {
    if (!existsSync(this.#directory)) return [];
    const found = readdirSync(this.#directory).flatMap((name) => folderPattern.exec(name)?.[1] ?? []);
    return found.map(Number).sort((a, b) => a - b);
  }

  directory(step: number): string {
    return join(this.#directory, folderName(step));
  }

  async save(engine: Engine, step: number): Promise<string> {
    mkdirSync(this.#directory, { recursive: true });
    for (const name of readdirSync(this.#directory)) {
      if (name.startsWith("unfinished-")) rmSync(join(this.#directory, name), { recursive: true, force: true });
    }
    const unfinished = join(this.#directory, `unfinished-${folderName(step)}`);
    await engine.save(unfinished);
    rmSync(this.directory(step), { recursive: true, force: true });
    renameSync(unfinished, this.directory(step));
    return this.directory(step);
  }

  /** Forgets all but the newest `count` and those in `also`. */
  keep(count: number, also: readonly number[]): void {
    for (const step of this.steps().slice(0, -count)) {
      if (!also.includes(step)) rmSync(this.directory(step), { recursive: true, force: true });
    }
  }
}
