import { type ChildProcess, type SpawnOptions, spawn } from "node:child_process";
import { constants } from "node:os";
import { errorText } from "../../errors.ts";
import { guardGroup } from "./group-guard.ts";
import type { End } from "./sandbox.ts";

/** How the first process of a group ended. */
export type GroupEnd = Extract<End, { kind: "exited" | "not-started" }>;

/**
 * A child process that leads a group of its own. It never keeps this program alive: whoever waits for it holds a timer.
 * A descendant that starts a session of its own leaves the group; only a pid namespace would hold it.
 */
export interface ProcessGroup {
  readonly child: ChildProcess;
  /** When it is gone and all that it wrote has been read. */
  readonly ended: Promise<GroupEnd>;
  /** SIGKILL to every process of the group. */
  kill(): void;
}

// who left the group may hold the pipes open for ever
const drainMs = 200;

export function spawnGroup(command: string, args: readonly string[], options: SpawnOptions): ProcessGroup {
  const child = spawn(command, args, { ...options, detached: true });
  child.unref();
  child.channel?.unref();
  const pipes = child.stdio.filter((pipe) => pipe !== null && pipe !== undefined);
  for (const pipe of pipes) {
    pipe.on("error", () => {}); // a reader or writer that is gone shows in how the process ends
    if ("unref" in pipe && typeof pipe.unref === "function") pipe.unref();
  }
  const release = child.pid === undefined ? () => {} : guardGroup(child.pid);

  const ended = new Promise<GroupEnd>((resolve) => {
    child.on("error", (error) => {
      if (child.pid === undefined) resolve(notStarted(error));
    });
    child.once("exit", (code, signal) => {
      killGroup(child); // what it started and left behind
      const finish = () => {
        clearTimeout(timer);
        release();
        if (child.connected) child.disconnect();
        for (const pipe of pipes) pipe.destroy();
        // as a shell puts it
        resolve(
          signal === null
            ? { kind: "exited", code: code ?? 0 }
            : { kind: "exited", code: 128 + constants.signals[signal], signal },
        );
      };
      const timer = setTimeout(finish, drainMs);
      child.once("close", finish);
    });
  });
  const kill = () => {
    if (child.exitCode !== null || child.signalCode !== null) return; // the number may be another's by now
    child.ref(); // so that the program stays until it is gone
    killGroup(child);
  };
  return { child, ended, kill };
}

export function notStarted(error: unknown): GroupEnd {
  const name = error instanceof Error && "code" in error ? String(error.code) : "UNKNOWN";
  return { kind: "not-started", name, message: errorText(error) };
}

function killGroup(child: ChildProcess): void {
  if (child.pid === undefined) return;
  try {
    process.kill(-child.pid, "SIGKILL");
  } catch {
    child.kill("SIGKILL"); // no group of that name: it is gone, or the platform has no groups
  }
}
