import type { InterruptSignal, Terminal } from "./command.ts";

/** 128 and the signal's number, as shells have it. */
const statuses: Readonly<Record<InterruptSignal, number>> = { SIGINT: 130, SIGTERM: 143 };

/**
 * Runs long work that Ctrl-C can stop: once aborts the signal, so that all is saved and closed; twice ends the program at once.
 * Returns the work's exit status, or that of the interrupt.
 */
export async function stoppable(terminal: Terminal, work: (signal: AbortSignal) => Promise<number>): Promise<number> {
  const stop = new AbortController();
  let interruptedWith: number | undefined;
  const interrupt = (signal: InterruptSignal) => {
    if (interruptedWith !== undefined) {
      terminal.exit?.(statuses[signal]);
      return;
    }
    interruptedWith = statuses[signal];
    terminal.stderr.write("\nStopping. Once more stops at once.\n");
    stop.abort();
  };
  const listeners = { SIGINT: () => interrupt("SIGINT"), SIGTERM: () => interrupt("SIGTERM") };
  terminal.on?.("SIGINT", listeners.SIGINT);
  terminal.on?.("SIGTERM", listeners.SIGTERM);
  try {
    const status = await work(stop.signal);
    return interruptedWith ?? status;
  } finally {
    terminal.off?.("SIGINT", listeners.SIGINT);
    terminal.off?.("SIGTERM", listeners.SIGTERM);
  }
}
