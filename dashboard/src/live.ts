import { useEffect, useState } from "react";
import { setConnection } from "./connection.ts";

const leastMs = 1200;
const againMs = 3000;
/** `EventSource.CLOSED`: the browser has given up, as it does when the answer is an error. */
const closed = 2;

/** Increments when one of the runs (with none: any run) was written to, at most once per `leastMs`, and when a lost server is back. */
export function useLive(runs: readonly string[]): number {
  const [version, setVersion] = useState(0);
  const query = runs.map((run) => `run=${encodeURIComponent(run)}`).join("&");
  useEffect(() => {
    const follower = new Follower(query, () => setVersion((before) => before + 1));
    return () => follower.close();
  }, [query]);
  return version;
}

class Follower {
  readonly #query: string;
  readonly #onChange: () => void;
  #source: EventSource;
  #isFirst = true;
  #wasOpen = false;
  #wasLost = false;
  #changeTimer: ReturnType<typeof setTimeout> | undefined;
  #openTimer: ReturnType<typeof setTimeout> | undefined;

  constructor(query: string, onChange: () => void) {
    this.#query = query;
    this.#onChange = onChange;
    setConnection("connecting");
    this.#source = this.#open();
  }

  close(): void {
    setConnection("idle");
    clearTimeout(this.#changeTimer);
    clearTimeout(this.#openTimer);
    this.#source.close();
  }

  #open(): EventSource {
    const source = new EventSource(`/api/live?${this.#query}`);
    const hear = () => this.#hear();
    source.addEventListener("change", hear);
    source.addEventListener("list", hear);
    source.addEventListener("open", () => {
      setConnection("live");
      this.#wasOpen = true;
      if (this.#wasLost) this.#onChange();
      this.#wasLost = false;
    });
    source.addEventListener("error", () => {
      // one that was never there is told by what the page asked for
      if (this.#wasOpen) setConnection("lost");
      this.#wasLost = this.#wasOpen;
      if (source.readyState !== closed) return;
      this.#openTimer = setTimeout(() => {
        this.#source = this.#open();
      }, againMs);
    });
    return source;
  }

  #hear(): void {
    // the first event of a run only says that it exists
    if (this.#isFirst && this.#query !== "") {
      this.#isFirst = false;
      return;
    }
    this.#changeTimer ??= setTimeout(() => {
      this.#changeTimer = undefined;
      this.#onChange();
    }, leastMs);
  }
}
