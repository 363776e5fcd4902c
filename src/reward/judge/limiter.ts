/** Bounds concurrency: further work waits in a queue, and leaves it when its signal is aborted. */
export type Limiter = <Value>(work: () => Promise<Value>, signal: AbortSignal) => Promise<Value>;

export function createLimiter(limit: number): Limiter {
  let running = 0;
  const waiting = new Set<() => void>();

  const turn = (signal: AbortSignal) =>
    new Promise<void>((resolve, reject) => {
      const start = () => {
        signal.removeEventListener("abort", leave);
        waiting.delete(start);
        running++;
        resolve();
      };
      const leave = () => {
        waiting.delete(start);
        reject(signal.reason);
      };
      if (running < limit) return start();
      waiting.add(start);
      signal.addEventListener("abort", leave, { once: true });
    });

  return async (work, signal) => {
    signal.throwIfAborted();
    await turn(signal);
    try {
      return await work();
    } finally {
      running--;
      const [next] = waiting;
      next?.();
    }
  };
}
