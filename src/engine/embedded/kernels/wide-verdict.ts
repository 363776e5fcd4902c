import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { cpus, homedir } from "node:os";
import { dirname, join } from "node:path";
import { isSea } from "node:sea";
import { fileURLToPath } from "node:url";
import { errorText, LudusError } from "../../../errors.ts";

/** How kernels with wide vectors are made on a machine. */
export interface WideVerdict {
  /** Columns of weights that lie together. */
  panelWidth: number;
  /** After how much work V8 optimizes a function, which has to be set again after it was changed. */
  tieringBudget: number;
}

const wideVariable = "LUDUS_WIDE_KERNELS";
/** A trial takes half a second; a machine with many processes may be slow. */
const trialMs = 30_000;

let known: { verdict: WideVerdict | undefined } | undefined;

/**
 * Whether V8's flags may be set in this process, and how. They were never meant to be changed while a program runs, so a process of
 * its own does it first: it compiles kernels, runs them and compares their bits. Where it does not end well, kernels are compiled as
 * they are, and that is said once. A good verdict is kept in the user's cache folder, for this Node and this processor.
 */
export function wideVerdict(): WideVerdict | undefined {
  known ??= { verdict: isWanted() ? (readVerdict() ?? tryOnce()) : undefined };
  return known.verdict;
}

/** Before version 13, in Node 24, V8 does not join these vectors. */
function isWanted(): boolean {
  const wanted = process.env[wideVariable] ?? "";
  if (!["", "0", "1"].includes(wanted)) {
    throw new LudusError("bad-environment", {
      got: `${wideVariable}=${wanted}`,
      expected: "0 or 1",
      hint: "0 compiles kernels without wide vectors; 1 is the default.",
    });
  }
  return wanted !== "0" && Number.parseInt(process.versions.v8, 10) >= 13;
}

function tryOnce(): WideVerdict | undefined {
  try {
    const verdict = runTrial();
    keepVerdict(verdict);
    return verdict;
  } catch (error) {
    process.emitWarning(
      `Kernels are compiled without wide vectors, and sampling is up to twice as slow: their trial failed. ${errorText(error)}`,
      { code: "LUDUS_PLAIN_KERNELS", detail: `${wideVariable}=0 leaves out the trial.` },
    );
    return undefined;
  }
}

/** The trial, in processes of their own. */
function runTrial(): WideVerdict {
  // such a program would start itself
  if (isSea()) throw new Error("This program is a single executable.");
  const tieringBudget = readBudget(runNode(["--v8-options"]));
  const extension = import.meta.url.endsWith(".ts") ? ".ts" : ".js";
  const script = fileURLToPath(new URL(`./wide-trial${extension}`, import.meta.url));
  const { panelWidth } = JSON.parse(runNode([script, String(tieringBudget)]));
  return checkedVerdict({ panelWidth, tieringBudget });
}

/** V8's budget, from the text that lists its flags with their defaults. */
export function readBudget(options: string): number {
  for (const flag of ["--experimental-wasm-revectorize", "--wasm-sync-tier-up", "--wasm-tiering-budget"]) {
    if (!options.includes(`${flag} `)) throw new Error(`V8 has no ${flag}.`);
  }
  return Number(/--wasm-tiering-budget=(\d+)/.exec(options)?.[1]);
}

function runNode(args: readonly string[]): string {
  const { NODE_OPTIONS = "", ...rest } = process.env;
  const { status, signal, stdout, stderr, error } = spawnSync(process.execPath, args, {
    // a debugger would be waited for; Electron's own is not Node; and a trial makes no trial
    env: {
      ...{ ...rest, ELECTRON_RUN_AS_NODE: "1", [wideVariable]: "0" },
      NODE_OPTIONS: NODE_OPTIONS.replaceAll(/--inspect\S*/g, ""),
    },
    ...{ encoding: "utf8", timeout: trialMs, maxBuffer: 16 * 2 ** 20, windowsHide: true },
  });
  if (error !== undefined) throw error;
  if (status !== 0) throw new Error(`It ended with ${signal ?? `code ${status}`}: ${stderr.trim().split("\n").at(-1)}`);
  return stdout;
}

function checkedVerdict({ panelWidth, tieringBudget }: Partial<WideVerdict>): WideVerdict {
  const isGood = (panelWidth === 8 || panelWidth === 16) && Number.isSafeInteger(tieringBudget) && tieringBudget! > 0;
  if (!isGood) throw new Error(`It said ${JSON.stringify({ panelWidth, tieringBudget })}.`);
  return { panelWidth: panelWidth!, tieringBudget: tieringBudget! };
}

/** One file for each Node and processor. */
function verdictFile(): string {
  const cache = process.env.XDG_CACHE_HOME || process.env.LOCALAPPDATA || join(homedir(), ".cache");
  const machine = [process.version, process.arch, process.platform, cpus()[0]?.model, trialVersion].join();
  return join(cache, "ludus", `wide-kernels-${createHash("sha256").update(machine).digest("hex").slice(0, 16)}.json`);
}

/** To be raised when a machine has to try again. */
const trialVersion = 2;

function readVerdict(): WideVerdict | undefined {
  try {
    return checkedVerdict(JSON.parse(readFileSync(verdictFile(), "utf8")));
  } catch {
    return undefined;
  }
}

function keepVerdict(verdict: WideVerdict): void {
  try {
    const file = verdictFile();
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, JSON.stringify(verdict));
  } catch {
    // then the next process tries again
  }
}
