/** The policy's own doing: scored, compared with its group, trained on. */
export const policyStops = ["completed", "max-turns", "max-tokens", "context-full", "parse-error"] as const;

/** The infrastructure's: counted, shown, retried; never in the statistics of a group, never in a loss. */
export const infrastructureStops = [
  "tool-timeout",
  "tool-crash",
  "env-timeout",
  "env-crash",
  "engine-error",
  "episode-timeout",
  "cancelled",
] as const;

export type PolicyStop = (typeof policyStops)[number];
export type InfrastructureStop = (typeof infrastructureStops)[number];

/** Every way an episode can end. */
export type StopReason = PolicyStop | InfrastructureStop;

export function isInfrastructureStop(stop: StopReason): stop is InfrastructureStop {
  return (infrastructureStops as readonly string[]).includes(stop);
}
