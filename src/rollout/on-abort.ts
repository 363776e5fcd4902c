interface Waiting {
  readonly callbacks: Set<() => void>;
  readonly listener: () => void;
}

const waiting = new WeakMap<AbortSignal, Waiting>();

/**
 * Calls back once when the signal is aborted, unless what it returns was called before. A signal walks the list of its
 * listeners whenever one comes or goes, so ten thousand rollouts that hang on one signal share a listener.
 */
export function onAbort(signal: AbortSignal, callback: () => void): () => void {
  const { callbacks, listener } = waiting.get(signal) ?? listenTo(signal);
  callbacks.add(callback);
  return () => {
    callbacks.delete(callback);
    if (callbacks.size > 0) return;
    signal.removeEventListener("abort", listener);
    waiting.delete(signal);
  };
}

function listenTo(signal: AbortSignal): Waiting {
  const callbacks = new Set<() => void>();
  const listener = () => {
    waiting.delete(signal);
    for (const callback of callbacks) callback();
  };
  signal.addEventListener("abort", listener, { once: true });
  const entry = { callbacks, listener };
  waiting.set(signal, entry);
  return entry;
}
