import { type Failure, failureKey, failureParts, failureText } from "../schema/failure.ts";
import type { RunEvent } from "../schema/run-event.ts";
import { isInfrastructureStop } from "../schema/stop-reason.ts";
import type { FinishedRollout } from "./monitor.ts";

type FailureEvent = Extract<RunEvent, { type: "failure" }>;
const shownAtEnd = 5;

/** What a console says of attempts that failed: each text once, as soon as it is known, then counts. */
export class FailureNotes {
  readonly #seen = new Set<string>();
  readonly #totals = new Map<string, Failure>();
  #step = { failed: 0, attempts: 0 };

  /** Lines for a training attempt that has just ended. */
  ofRollout({ id, stop, failure = "" }: FinishedRollout): readonly string[] {
    if (!isInfrastructureStop(stop) || stop === "cancelled") return [];
    return this.#first({ during: "training", stop, count: 1, rollout: id, ...failureParts(failure) });
  }

  /** Lines for what a step, an evaluation or a warm start counted. */
  ofEvent(event: FailureEvent): readonly string[] {
    const key = failureKey(event);
    const { count, during, attempts } = event;
    this.#totals.set(key, { ...event, count: count + (this.#totals.get(key)?.count ?? 0) });
    if (during === "training") this.#step = { failed: this.#step.failed + count, attempts };
    return this.#first(event);
  }

  /** Of the step that ends now: how many attempts failed; empty where none did. */
  takeStep(): string {
    const { failed, attempts } = this.#step;
    this.#step = { failed: 0, attempts: 0 };
    return failed === 0 ? "" : `failed ${failed} of ${attempts}`;
  }

  /** Lines for the end of the run. */
  summary(): readonly string[] {
    const all = [...this.#totals.values()].sort((a, b) => b.count - a.count);
    const more = all.length > shownAtEnd ? [`and ${all.length - shownAtEnd} more kinds of failures`] : [];
    return [
      ...all.slice(0, shownAtEnd).map((failure) => `failed in ${failure.during}: ${failureText(failure)}`),
      ...more,
    ];
  }

  #first(failure: Failure): readonly string[] {
    const key = failureKey(failure);
    if (this.#seen.has(key)) return [];
    this.#seen.add(key);
    const { stop, rollout, message, at } = failure;
    const text = message === "" ? "(no text)" : message.replaceAll(/\s*\n\s*/g, " ");
    return [`failed: ${stop} in ${rollout}: ${text}`, ...(at === undefined ? [] : [`  ${at}`])];
  }
}
