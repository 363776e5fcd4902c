import { z } from "zod";
import { defined } from "../../defined.ts";
import { type KnownOptions, refuseOtherValue, refuseUnknownOptions } from "../../known-options.ts";
import type { Limits } from "../../rollout/limits.ts";
import { generated } from "../../task/generated.ts";
import { defineEnv } from "../define-env.ts";
import type { Env } from "../env.ts";
import { type BridgeProcess, chosenPython, PythonBridge } from "./python-bridge.ts";

/** Python libraries whose environments can be played. */
export const pythonLibraries = ["gymnasium", "reasoning-gym", "textarena", "verifiers"] as const;
export type PythonLibrary = (typeof pythonLibraries)[number];

export interface PythonEnvOptions {
  from: PythonLibrary;
  /** As the library calls it: "FrozenLake-v1", "chain_sum", "GuessTheNumber-v0", a taskset of verifiers. */
  name: string;
  /** Passed on to the library, such as `{ is_slippery: false }`. */
  options?: Readonly<Record<string, unknown>>;
  /** Which Python has the library; `LUDUS_ENVIRONMENTS`, `LUDUS_PYTHON`, `.venv` or `python3` by default. */
  python?: string;
  /** Told once, before everything. */
  system?: string;
  limits?: Partial<Limits>;
}

const knownPythonEnvOptions: KnownOptions<PythonEnvOptions> = {
  from: true,
  name: true,
  options: true,
  python: true,
  system: true,
  limits: true,
};

export interface PythonTask {
  readonly seed: number;
}

export interface PythonState {
  readonly process: BridgeProcess;
  readonly episode: string;
}

const Told = z.object({ say: z.string(), reward: z.number().default(0), done: z.boolean().default(false) });
const Names = z.object({ names: z.array(z.string()) });

/** One bridge for each Python of this program. */
const bridges = new Map<string, PythonBridge>();
let episodes = 0;

/**
 * An environment of a Python library. All episodes are in one process of Python, each with a thread for what it is asked; one that crashes takes
 * its own episodes along, as `env-crash`, and the next episode starts another. Rewards are the library's; 1 or more is a success.
 *
 *     const env = pythonEnv({ from: "reasoning-gym", name: "chain_sum" });
 */
export function pythonEnv(options: PythonEnvOptions): Env<PythonTask, PythonState> {
  refuseUnknownOptions("pythonEnv", options, knownPythonEnvOptions);
  refuseOtherValue("from", options.from, pythonLibraries);
  return bridgedEnv(options, bridgeOf(options.python));
}

/** The same on a given bridge. */
export function bridgedEnv(options: PythonEnvOptions, bridge: PythonBridge): Env<PythonTask, PythonState> {
  const { from, name, options: own = {}, system, limits } = options;
  return defineEnv<PythonTask, PythonState>({
    name: envName(`${from}.${name}`),
    description: `${name} of ${from}`,
    tasks: generated((rng) => ({ seed: rng.integer(2 ** 31) }), { name: `${from}/${name}` }),
    async start({ task, signal }) {
      const state = { process: bridge.process(), episode: String(episodes++) };
      const asked = { op: "start", from, name, seed: task.seed, options: own, episode: state.episode };
      const { say } = Told.parse(await state.process.request(from, asked, signal));
      return { state, say };
    },
    async act({ state: { process, episode }, answer, signal }) {
      return Told.parse(await process.request(from, { op: "step", episode, text: answer }, signal));
    },
    async close({ process, episode }) {
      if (process.hasEnded) return;
      await process.request(from, { op: "close", episode }, AbortSignal.timeout(closeMs));
    },
    // importing verifiers takes a minute on a busy machine, and the first episode waits for it
    limits: { envMs: from === "verifiers" ? 300_000 : 60_000, ...limits },
    ...defined({ system }),
  });
}

const closeMs = 10_000;

/** Names of a library's environments. */
export async function listPythonEnvs(
  from: PythonLibrary,
  { python }: { python?: string } = {},
): Promise<readonly string[]> {
  refuseOtherValue("from", from, pythonLibraries);
  const process = bridgeOf(python).process();
  return Names.parse(await process.request(from, { op: "list", from }, AbortSignal.timeout(listMs))).names;
}

const listMs = 120_000;

function bridgeOf(asked: string | undefined): PythonBridge {
  const python = chosenPython(asked);
  const bridge = bridges.get(python) ?? new PythonBridge(python);
  bridges.set(python, bridge);
  return bridge;
}

function envName(given: string): string {
  return given.replace(/[^\w.-]+/g, "-").slice(0, 64);
}
