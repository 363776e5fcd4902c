import { errorText } from "../errors.ts";
import type { FinishedRollout, Monitor } from "../monitor/monitor.ts";
import type { RunEvent } from "../schema/run-event.ts";

/** All monitors of a run. One that throws is reported to the others and receives nothing further; the run continues. */
export class Monitors {
  #monitors: readonly Monitor[];
  /** Left out, but still to be closed. */
  readonly #failed: Monitor[] = [];

  constructor(monitors: readonly Monitor[]) {
    this.#monitors = monitors;
  }

  record(event: RunEvent): void {
    this.#tell((monitor) => monitor.record(event));
  }

  recordRollout(rollout: FinishedRollout): void {
    this.#tell((monitor) => monitor.recordRollout?.(rollout));
  }

  async close(): Promise<void> {
    for (const monitor of this.#monitors) {
      // first of all: what is closed must not be told why another could not be
      this.#remove(monitor);
      try {
        await monitor.close?.();
      } catch (error) {
        this.#report(monitor, error);
      }
    }
    for (const monitor of this.#failed.splice(0)) {
      try {
        await monitor.close?.();
      } catch {
        // it was reported when it failed
      }
    }
  }

  #tell(news: (monitor: Monitor) => void): void {
    for (const monitor of this.#monitors) {
      // the report about another may have failed in this one
      if (!this.#monitors.includes(monitor)) continue;
      try {
        news(monitor);
      } catch (error) {
        this.#remove(monitor);
        this.#failed.push(monitor);
        this.#report(monitor, error);
      }
    }
  }

  #remove(gone: Monitor): void {
    this.#monitors = this.#monitors.filter((monitor) => monitor !== gone);
  }

  #report({ name }: Monitor, error: unknown): void {
    this.record({ type: "warning", message: `monitor ${name} failed and is left out: ${errorText(error)}` });
  }
}
