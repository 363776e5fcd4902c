/** How a piece of work ended. */
export type Ended<Value = unknown> =
  | { readonly how: "returned"; readonly value: Value }
  | { readonly how: "threw"; readonly error: unknown }
  | { readonly how: "timeout" }
  | { readonly how: "cancelled" };

/** An abort signal that costs nothing until someone asks for it. */
export interface LazySignal {
  get(): AbortSignal;
  abort(reason: unknown): void;
}

export function lazySignal(): LazySignal {
  let controller: AbortController | undefined;
  let aborted: { readonly reason: unknown } | undefined;
  return {
    get() {
      controller ??= new AbortController();
      if (aborted !== undefined) controller.abort(aborted.reason);
      return controller.signal;
    },
    abort(reason) {
      aborted ??= { reason };
      controller?.abort(reason);
    },
  };
}

// setTimeout takes more for 1 ms
const maxTimerMs = 2 ** 31 - 1;

/**
 * Runs `work` until it ends, `timeoutMs` have passed or `parent` is aborted, and aborts `own` in the last two cases. Never
 * rejects; a promise that settles later is heard by nobody. Work that returns no promise costs no timer and no listener.
 */
export function runWithin<Value>(
  work: () => Value | PromiseLike<Value>,
  limits: { readonly parent: AbortSignal; readonly own: LazySignal; readonly timeoutMs: number },
): Ended<Value> | Promise<Ended<Value>> {
  try {
    const value = work();
    return isThenable(value) ? settle(value, limits) : { how: "returned", value };
  } catch (error) {
    return { how: "threw", error };
  }
}

function settle<Value>(
  pending: PromiseLike<Value>,
  { parent, own, timeoutMs }: Parameters<typeof runWithin>[1],
): Promise<Ended<Value>> {
  return new Promise((resolve) => {
    let timer: NodeJS.Timeout | undefined;
    let immediate: NodeJS.Immediate | undefined;
    const end = (ended: Ended<Value>) => {
      clearTimeout(timer);
      clearImmediate(immediate);
      parent.removeEventListener("abort", cancel);
      resolve(ended);
    };
    const cancel = () => {
      end({ how: "cancelled" });
      own.abort(parent.reason);
    };
    const expire = () => {
      end({ how: "timeout" });
      own.abort(new DOMException(`The call took longer than ${timeoutMs} ms`, "TimeoutError"));
    };
    Promise.resolve(pending).then(
      (value) => end({ how: "returned", value }),
      (error: unknown) => end({ how: "threw", error }),
    );
    if (parent.aborted) {
      cancel();
      return;
    }
    parent.addEventListener("abort", cancel, { once: true });
    // after the timer one more look at what has arrived: where this thread was busy, the answer may have come in time
    const lookOnceMore = () => {
      immediate = setImmediate(expire);
    };
    if (timeoutMs <= maxTimerMs) timer = setTimeout(lookOnceMore, timeoutMs);
  });
}

function isThenable<Value>(value: Value | PromiseLike<Value>): value is PromiseLike<Value> {
  return typeof value === "object" && value !== null && "then" in value && typeof value.then === "function";
}
