/** Events from the server, sent by tests: `FakeEventSource.send("change")` reaches every source that is open. */
export class FakeEventSource {
  static readonly open = new Set<FakeEventSource>();
  readonly url: string;
  readyState = 1;
  readonly #listeners = new Map<string, () => void>();

  constructor(url: string) {
    this.url = url;
    FakeEventSource.open.add(this);
  }

  addEventListener(type: string, listener: () => void): void {
    this.#listeners.set(type, listener);
  }

  close(): void {
    FakeEventSource.open.delete(this);
  }

  static send(type: "change" | "list" | "open" | "error"): void {
    for (const source of FakeEventSource.open) source.#listeners.get(type)?.();
  }
}
