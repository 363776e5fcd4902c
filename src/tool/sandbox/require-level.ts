import { LudusError } from "../../errors.ts";
import { type Sandbox, type SandboxLevel, sandboxLevels } from "./sandbox.ts";

/** What a run records of the sandbox it used, in JSON. */
export interface SandboxInfo {
  readonly name: string;
  readonly level: SandboxLevel;
}

export function sandboxInfo({ name, level }: SandboxInfo): SandboxInfo {
  return { name, level };
}

export function isAtLeast(level: SandboxLevel, atLeast: SandboxLevel): boolean {
  return sandboxLevels.indexOf(level) >= sandboxLevels.indexOf(atLeast);
}

const remedies: Readonly<Record<SandboxLevel, string>> = {
  none: "",
  thread: 'Run the function with `isolated: { where: "thread" }`.',
  process: "Pass `processSandbox()`, which needs nothing to be installed.",
  namespace:
    "Install bubblewrap (`apt-get install bubblewrap`) and pass `bubblewrapSandbox()`, or leave `sandbox` out.",
  "virtual-machine":
    "Install Firecracker or gVisor (`runsc`), or rent remote machines, and pass a sandbox that uses them.",
};

/** Throws where the sandbox is weaker than `atLeast`; any will do where that is absent. Returns the sandbox. */
export function requireLevel<Given extends SandboxInfo | Sandbox>(
  sandbox: Given,
  atLeast: SandboxLevel = "none",
): Given {
  if (!sandboxLevels.includes(atLeast)) {
    throw new LudusError("unknown-sandbox-level", {
      got: `"${atLeast}"`,
      expected: `one of ${sandboxLevels.join(", ")}`,
    });
  }
  if (isAtLeast(sandbox.level, atLeast)) return sandbox;
  throw new LudusError("sandbox-too-weak", {
    got: `sandbox "${sandbox.name}" of level "${sandbox.level}"`,
    expected: `level "${atLeast}" or stronger`,
    hint: remedies[atLeast],
  });
}

/** Throws where a call could change what the call after it does: tests must not be run there for a reward. Returns the sandbox. */
export function requireOwnProcesses(sandbox: Sandbox, caller: string): Sandbox {
  if (sandbox.sharesProcess !== true) return sandbox;
  throw new LudusError("sandbox-shares-process", {
    got: `sandbox "${sandbox.name}" of ${caller}, whose calls share a process`,
    expected: "a process for each call: what ran before could change the tests that decide a reward",
    hint: 'Pass `bubblewrapSandbox({ warm: "node" })` to it; `warm: "node-session"` is for commands of tools.',
  });
}
