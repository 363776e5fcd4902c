import { bounds } from "../bounds.ts";
import { defined } from "../defined.ts";
import { type InfrastructureStop, isInfrastructureStop, type StopReason } from "./stop-reason.ts";

/** What attempts were made for. */
export const failureSources = ["training", "evaluation", "demonstration"] as const;
export type FailureSource = (typeof failureSources)[number];

/** Attempts that failed through no fault of the policy, with the same text but for numbers and ids. */
export interface Failure {
  readonly during: FailureSource;
  readonly stop: InfrastructureStop;
  /** What was thrown or timed out, as the example says it. */
  readonly message: string;
  /** The first line of the example's stack, where it has one. */
  readonly at?: string;
  /** Attempts, those that were made again included. */
  readonly count: number;
  /** The rollout that is the example. */
  readonly rollout: string;
}

/** What is counted of an attempt. */
export interface FinishedAttempt {
  readonly id: string;
  readonly stop: StopReason;
  readonly failure?: string;
}

/** A failure's text in two: what it says, and the first line of its stack. */
export function failureParts(text: string): Pick<Failure, "message" | "at"> {
  const stack = /\n\s+(at [^\n]+)/.exec(text);
  const message = (stack === null ? text : text.slice(0, stack.index)).trim().slice(0, bounds.failureText);
  return { message, ...defined({ at: stack?.[1].slice(0, bounds.failureText) }) };
}

/** The same for texts that differ in numbers, ids, addresses and temporary folders alone. */
export function failureKey({ during, stop, message }: Pick<Failure, "during" | "stop" | "message">): string {
  const plain = message
    .slice(0, 1000)
    .replaceAll(/(\/tmp|\/var\/folders)\/[^\s"'`)]+/g, "<path>")
    .replaceAll(/\b(?=\w*\d)(?=\w*[a-z])[\w-]{6,}\b/gi, "<id>")
    .replaceAll(/\d+([.,:-]\d+)*/g, "<n>");
  return `${during} ${stop} ${plain}`;
}

interface Tallied extends Omit<Failure, "count"> {
  count: number;
}

/** Counts the attempts of one step or one evaluation that failed, by what they say. */
export class FailureTally {
  /** Attempts that were seen, failed or not. */
  attempts = 0;
  readonly #during: FailureSource;
  readonly #kinds = new Map<string, Tallied>();

  constructor(during: FailureSource) {
    this.#during = during;
  }

  add({ id, stop, failure = "" }: FinishedAttempt): void {
    // cancelled: the run was stopped, and nothing failed
    if (stop === "cancelled") return;
    this.attempts++;
    if (!isInfrastructureStop(stop)) return;
    const parts = failureParts(failure);
    const key = failureKey({ during: this.#during, stop, ...parts });
    const known = this.#kinds.get(key) ?? this.#kinds.get(this.#overflowKey(stop));
    if (known === undefined) this.#open(key, { during: this.#during, stop, ...parts, count: 1, rollout: id });
    else this.#count(known, id, parts);
  }

  /** The most frequent first. The order in which attempts ended changes nothing. */
  list(): readonly Failure[] {
    return [...this.#kinds.values()].sort((a, b) => b.count - a.count || (a.rollout < b.rollout ? -1 : 1));
  }

  #open(key: string, tallied: Tallied): void {
    if (this.#kinds.size < bounds.failureKinds) this.#kinds.set(key, tallied);
    else this.#kinds.set(this.#overflowKey(tallied.stop), { ...tallied, message: "(further failures)" });
  }

  /** The example is the first by name, whichever attempt ended first: a run that is repeated says the same. */
  #count(known: Tallied, rollout: string, { message, at }: Pick<Failure, "message" | "at">): void {
    known.count++;
    if (rollout.localeCompare(known.rollout, "en", { numeric: true }) >= 0) return;
    Object.assign(known, { rollout, ...defined({ at }) });
    if (known.message !== "(further failures)") Object.assign(known, { message });
  }

  #overflowKey(stop: InfrastructureStop): string {
    return `${stop} further`;
  }
}

/** One line: how often, the kind, what it says and where. */
export function failureText({ count, stop, message, at }: Omit<Failure, "during">): string {
  return `${count} × ${stop}: ${message || "(no text)"}${at === undefined ? "" : ` (${at})`}`;
}

/** The most frequent ones of a list, for an error. */
export function failuresText(failures: readonly Failure[], most = 3): string {
  const more = failures.length > most ? [`and ${failures.length - most} more kinds`] : [];
  return [...failures.slice(0, most).map(failureText), ...more].join("; ");
}
