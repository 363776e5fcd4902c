import type { RunEvent } from "../schema/run-event.ts";

/** Where news of a run goes. A monitor that fails must not end a run: what it throws is reported once and it is left out. */
export interface Monitor {
  readonly name: string;
  record(event: RunEvent): void;
  close?(): void | Promise<void>;
}
