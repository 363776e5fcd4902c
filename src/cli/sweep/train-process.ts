import { spawn } from "node:child_process";
import { createWriteStream, mkdirSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { bounds } from "../../bounds.ts";

export interface TrainProcess {
  readonly file: string;
  readonly run: string;
  /** More arguments of `ludus train`. */
  readonly args: readonly string[];
  readonly threads: number;
  readonly signal: AbortSignal;
}

export interface ProcessEnd {
  /** The exit status; undefined where a signal ended it. */
  readonly status: number | undefined;
  /** The end of what it wrote to stderr. */
  readonly stderr: string;
}

export const eventsFile = "events.jsonl";
/** Seconds that a run has to save and close after it was asked to stop. */
const graceMs = 60_000;

// the same number of folders up from src/cli/sweep and from dist/cli/sweep
const program = fileURLToPath(new URL("../../../bin/ludus.js", import.meta.url));

/** `ludus train` in a process of its own. Aborting asks it to stop, as Ctrl-C does: it saves the last whole step. */
export function trainInProcess({ file, run, args, threads, signal }: TrainProcess): Promise<ProcessEnd> {
  mkdirSync(run, { recursive: true });
  const log = createWriteStream(join(run, "stderr.log"), { flags: "a" });
  // a full disk must not end the sweep; the run itself says what it could not write
  log.on("error", () => {});
  const command = [
    program,
    "train",
    file,
    "--run",
    run,
    "--quiet",
    "--json",
    "--events",
    join(run, eventsFile),
    ...args,
  ];
  const child = spawn(process.execPath, command, {
    stdio: ["ignore", "ignore", "pipe"],
    // in a group of its own: Ctrl-C in the terminal is for the sweep, which passes it on once
    detached: process.platform !== "win32",
    env: { ...process.env, LUDUS_THREADS: String(threads), OMP_NUM_THREADS: String(threads) },
  });
  let stderr = "";
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    log.write(text);
    stderr = (stderr + text).slice(-bounds.failureText);
  });
  const kill = () => void child.kill("SIGKILL");
  let patience: NodeJS.Timeout | undefined;
  const stop = () => {
    child.kill("SIGINT");
    patience = setTimeout(kill, graceMs);
  };
  process.once("exit", kill);
  signal.addEventListener("abort", stop, { once: true });
  if (signal.aborted) stop();
  return new Promise((resolve) => {
    const end = (status: number | null, said: string) => {
      clearTimeout(patience);
      process.off("exit", kill);
      signal.removeEventListener("abort", stop);
      log.end();
      resolve({ status: status ?? undefined, stderr: said });
    };
    child.once("error", (error) => end(null, error.message));
    child.once("close", (status) => end(status, stderr));
  });
}
