import type { Monitor } from "../monitor/monitor.ts";
import type { RunEvent } from "../schema/run-event.ts";

/** All monitors of a run. One that throws is told of and left out from then on; the run goes on. */
export class Monitors {
  #monitors: readonly Monitor[];

  constructor(monitors: readonly Monitor[]) {
    this.#monitors = monitors;
  }

  record(event: RunEvent): void {
    for (const monitor of this.#monitors) {
      try {
        monitor.record(event);
      } catch (error) {
        this.#leaveOut(monitor, error);
      }
    }
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

  #leaveOut(failed: Monitor, error: unknown): void {
    this.#monitors = this.#monitors.filter((monitor) => monitor !== failed);
    const message = error instanceof Error ? error.message : String(error);
    this.record({ type: "warning", message: `monitor ${failed.name} failed and is left out: ${message}` });
  }
}
