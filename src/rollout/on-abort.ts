const waiting = new WeakMap<AbortSignal, Set<() => void>>();

/**
 * Calls back when the signal is aborted. Returns what takes it back. A signal walks its list of listeners at every change, so
 * ten thousand rollouts that hang on one signal share a listener.
 */
export function onAbort(signal: AbortSignal, callback: () => void): () => void {
  let callbacks = waiting.get(signal);
  if (callbacks === undefined) {
    const all = new Set<() => void>();
    callbacks = all;
    waiting.set(signal, all);
    signal.addEventListener("abort", () => callAll(all), { once: true });
  }
  const added = callbacks.add(callback);
  return () => added.delete(callback);
}

function callAll(callbacks: Set<() => void>): void {
  for (const callback of callbacks) callback();
  callbacks.clear();
}
