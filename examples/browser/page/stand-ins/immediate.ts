// Rollouts yield to the event loop with these, and browsers do not have them.
globalThis.setImmediate ??= ((work: () => void) => setTimeout(work, 0)) as never;
globalThis.clearImmediate ??= ((timer: number) => clearTimeout(timer)) as never;
