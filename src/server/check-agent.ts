import { describeFindings, type EnvReport } from "../env/check-env.ts";
import { LudusError } from "../errors.ts";
import { type KnownOptions, refuseUnknownOptions } from "../known-options.ts";
import type { World } from "../rollout/world.ts";
import { agentOf } from "./agent-env.ts";
import { AgentCheck } from "./check/agent-check.ts";

export interface CheckAgentOptions {
  /** Of each split. */
  tasks: number;
  /** An attempt that takes longer hangs. */
  timeoutMs: number;
  seed: number;
  /** Whether a broken promise is thrown as an error; warnings never are. */
  throw: boolean;
}

const defaults: CheckAgentOptions = { tasks: 2, timeoutMs: 10_000, seed: 0, throw: true };
const known: KnownOptions<CheckAgentOptions> = { tasks: true, timeoutMs: true, seed: true, throw: true };

/**
 * Plays attempts of an agent with a model that is not there: one that answers, one that calls tools, one that says nonsense, and
 * the expert. Says where the agent asked no model or one of another name, threw, gave no reward, rewrote what was said before, or
 * behaved differently the second time or beside others.
 *
 *     test("my agent can be trained", () => checkAgent(env));
 */
export async function checkAgent<Data>(
  world: World<Data>,
  options: Partial<CheckAgentOptions> = {},
): Promise<EnvReport> {
  refuseUnknownOptions("checkAgent", options, known);
  const chosen = { ...defaults, ...options };
  const agent = agentOf(world);
  if (agent === undefined) {
    throw new LudusError("not-an-agent", {
      got: `${world.name}, which agentEnv did not make`,
      expected: "an environment made by agentEnv",
      hint: "checkEnv checks those of defineEnv, worldContract any other.",
    });
  }
  const check = new AgentCheck(world as World, agent, chosen);
  await check.run();
  const report = { env: world.name, episodes: check.episodes, findings: check.findings.list() };
  const broken = report.findings.filter(({ isWarning }) => !isWarning);
  if (!chosen.throw || broken.length === 0) return report;
  throw new LudusError("agent-broken", {
    got: `${broken.length} broken promises of ${world.name}`,
    expected: "none",
    hint: `\n${describeFindings(broken)}`,
  });
}
