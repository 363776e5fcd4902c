import { useSyncExternalStore } from "react";

/** Whether the server's events arrive: `lost` once they have stopped, `idle` on a page that does not follow them. */
export type Connection = "idle" | "connecting" | "live" | "lost";

let now: Connection = "idle";
let lostAt = 0;
const listeners = new Set<() => void>();

export function setConnection(next: Connection): void {
  if (next === now) return;
  if (next === "lost") lostAt = Date.now();
  now = next;
  for (const listener of listeners) listener();
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

export function useConnection(): Connection {
  return useSyncExternalStore(subscribe, () => now);
}

/** When the connection was lost, in milliseconds since 1970. */
export function lostSince(): number {
  return lostAt;
}
