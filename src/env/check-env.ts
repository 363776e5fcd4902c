import { LudusError } from "../errors.ts";
import { type KnownOptions, refuseUnknownOptions } from "../known-options.ts";
import { EnvCheck } from "./check/env-check.ts";
import type { EnvFinding } from "./check/findings.ts";
import type { Env } from "./env.ts";

export interface CheckEnvOptions {
  /** Of each split. */
  tasks: number;
  /** Episodes are given up after so many turns. */
  turns: number;
  /** What takes longer hangs. The environment's own limits count where they are shorter. */
  timeoutMs: number;
  seed: number;
  /** Whether a broken promise is thrown as an error; warnings never are. */
  throw: boolean;
}

const knownCheckEnvOptions: KnownOptions<CheckEnvOptions> = {
  tasks: true,
  turns: true,
  timeoutMs: true,
  seed: true,
  throw: true,
};

const defaults: CheckEnvOptions = { tasks: 4, turns: 40, timeoutMs: 2_000, seed: 0, throw: true };

export interface EnvReport {
  readonly env: string;
  readonly episodes: number;
  /** Broken promises first, then warnings. */
  readonly findings: readonly EnvFinding[];
}

/**
 * Tries to break the promises of an environment: plays it with its expert, at random, with nonsense and with malice, again
 * and at the same time, and says what did not hold. What computes without end holds this thread, and the check with it.
 *
 *     test("my environment keeps its promises", () => checkEnv(env));
 */
export async function checkEnv<Data, State>(
  env: Env<Data, State>,
  options: Partial<CheckEnvOptions> = {},
): Promise<EnvReport> {
  refuseUnknownOptions("checkEnv", options, knownCheckEnvOptions);
  const chosen = { ...defaults, ...options };
  if (typeof env.start !== "function") throw notOurs(env.name);
  const check = new EnvCheck(env as Env, chosen);
  await check.run();
  const report = { env: env.name, episodes: check.episodes, findings: check.findings.list() };
  const broken = report.findings.filter(({ isWarning }) => !isWarning);
  if (!chosen.throw || broken.length === 0) return report;
  throw new LudusError("env-broken", {
    got: `${broken.length} broken promises of ${env.name}`,
    expected: "none",
    hint: `\n${describeFindings(broken)}`,
  });
}

function notOurs(name: string): LudusError {
  return new LudusError("not-an-env", {
    got: `${name}, which has no \`start\``,
    expected: "an environment made by defineEnv",
    hint: "checkAgent of ludus/server checks those of agentEnv; worldContract of ludus/testing checks any world.",
  });
}

/** One paragraph for each. */
export function describeFindings(findings: readonly EnvFinding[]): string {
  return findings
    .map(({ code, isWarning, message, remedy, count }) => {
      const more = count > 1 ? ` (${count} times)` : "";
      return `${isWarning ? "warning" : "error"} ${code}: ${message}${more}\n  ${remedy}`;
    })
    .join("\n");
}
