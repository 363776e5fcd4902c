import { LudusError } from "./errors.ts";

/**
 * Runs work with at most so much of it at once; the rest waits in the order it came. What waits leaves the queue, and throws the
 * signal's reason, when its signal is aborted.
 */
export type Limiter = <Value>(work: () => Promise<Value>, signal?: AbortSignal) => Promise<Value>;

export function createLimiter(limit: number): Limiter {
  if (!(limit >= 1)) throw new LudusError("bad-concurrency", { got: `${limit}`, expected: "at least 1" });
  let running = 0;
  const waiting = new Set<() => void>();

  const slot = (signal: AbortSignal | undefined) =>
    new Promise<void>((resolve, reject) => {
      const start = () => {
        signal?.removeEventListener("abort", leave);
        waiting.delete(start);
        running++;
        resolve();
      };
      const leave = () => {
        waiting.delete(start);
        reject(signal?.reason);
      };
      if (running < limit) return start();
      waiting.add(start);
      signal?.addEventListener("abort", leave, { once: true });
    });

  return async (work, signal) => {
    signal?.throwIfAborted();
    await slot(signal);
    try {
      return await work();
    } finally {
      running--;
      const [next] = waiting;
      next?.();
    }
  };
}
