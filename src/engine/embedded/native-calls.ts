// A thread that is ended while it is inside ONNX Runtime aborts the whole process: the binding throws what nobody can catch. `close()`
// asks a thread to end itself; when the process exits, Node ends its threads wherever they are, so the exit waits for calls under way.

/** A message that ends a thread at its next turn: between such calls, never in one. */
export const endOfThread = "end";

export type CallWords = Int32Array<SharedArrayBuffer>;

const word = { calls: 0, stop: 1 } as const;
/** Longer than any call of a model that fits; a thread that is stuck does not keep a process from its exit. */
const longestCallMs = 30_000;

/** Of this thread, where it has any. */
let own: CallWords | undefined;

/** Words for a thread that is about to start: loading the binding is a call too. */
export function startingWords(): CallWords {
  const words = new Int32Array(new SharedArrayBuffer(2 * Int32Array.BYTES_PER_ELEMENT));
  words[word.calls] = 1;
  return words;
}

/** Called by the thread once it is loaded. */
export function countNativeCalls(words: CallWords): void {
  own = words;
  leave(words);
}

/** Makes a call into the binding, unless the process is about to exit: then the call never settles. */
export async function nativeCall<Result>(call: () => Promise<Result>): Promise<Result> {
  const words = own;
  if (words === undefined) return await call();
  Atomics.add(words, word.calls, 1);
  try {
    if (Atomics.load(words, word.stop) !== 0) return await new Promise<never>(() => leave(words));
    return await call();
  } finally {
    leave(words);
  }
}

function leave(words: CallWords): void {
  Atomics.sub(words, word.calls, 1);
  Atomics.notify(words, word.calls);
}

const watched = new Set<CallWords>();

/** Makes the exit of the process wait for the native calls of a thread, until `unwatch`. */
export function watchNativeCalls(words: CallWords): { unwatch(): void } {
  if (watched.size === 0) process.on("exit", awaitCalls);
  watched.add(words);
  const unwatch = () => {
    watched.delete(words);
    if (watched.size === 0) process.off("exit", awaitCalls);
  };
  return { unwatch };
}

function awaitCalls(): void {
  const end = performance.now() + longestCallMs;
  for (const words of watched) Atomics.store(words, word.stop, 1);
  for (const words of watched) {
    for (;;) {
      const calls = Atomics.load(words, word.calls);
      const leftMs = end - performance.now();
      if (calls === 0 || leftMs <= 0) break;
      Atomics.wait(words, word.calls, calls, leftMs);
    }
  }
}
