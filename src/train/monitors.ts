import { errorText } from "../errors.ts";
import type { FinishedRollout, Monitor } from "../monitor/monitor.ts";
import type { RunEvent } from "../schema/run-event.ts";

/** All monitors of a run. One that throws is told of and left out from then on; the run goes on. */
export class Monitors {
  #monitors: readonly Monitor[];

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
      try {
        await monitor.close?.();
      } catch (error) {
        this.#leaveOut(monitor, error);
      }
    }
  }

  #tell(news: (monitor: Monitor) => void): void {
    for (const monitor of this.#monitors) {
      try {
        news(monitor);
      } catch (error) {
        this.#leaveOut(monitor, error);
      }
    }
  }

  #leaveOut(failed: Monitor, error: unknown): void {
    this.#monitors = this.#monitors.filter((monitor) => monitor !== failed);
    const message = errorText(error);
    this.record({ type: "warning", message: `monitor ${failed.name} failed and is left out: ${message}` });
  }
}
