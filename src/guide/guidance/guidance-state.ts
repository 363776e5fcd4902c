import { z } from "zod";
import { Real } from "../../schema/json-real.ts";
import { infrastructureStops, policyStops } from "../../schema/stop-reason.ts";
import { taskFromJson } from "../../schema/task-json.ts";

const Hint = z.object({ kind: z.string(), text: z.string() });

const Attempt = z.object({
  messages: z.array(
    z.object({
      role: z.enum(["system", "user", "assistant", "tool"]),
      content: z.string(),
      name: z.string().exactOptional(),
    }),
  ),
  score: z.object({ total: Real, parts: z.record(z.string(), Real), success: z.boolean() }),
  stop: z.enum([...policyStops, ...infrastructureStops]),
});

const Retry = z.object({
  task: z.unknown().transform(taskFromJson),
  attempts: z.array(Attempt),
  earlier: z.array(Hint),
  failures: z.array(z.number()),
});

/** What a lease is of: a lease of the guide that gives fresh tasks, by its id, or a retry. */
export const LeaseNote = z.union([z.object({ fresh: z.string() }), z.object({ retry: Retry })]);

const Counts = z.object({ groups: z.int(), solved: z.int(), success: z.number() });

/** What of guided retries survives a restart. */
export const GuidanceState = z.object({
  /** Of the guide that gives fresh tasks. */
  tasks: z.unknown(),
  leases: z.unknown().optional(),
  waiting: z.array(Retry),
  /** The share of a guided retry that is still to be given. */
  owed: z.number(),
  draws: z.int(),
  passRate: z.number(),
  groups: z.int(),
  rescued: z.int(),
  hintFailures: z.int(),
  /** Attempts at tasks of this step: groups, those with a success, and the sum of their shares of success. */
  step: z.object({ guided: Counts, unguided: Counts }),
  /** Whether the step's metrics have been read: the next pick begins another. */
  isStepOver: z.boolean(),
});

export type GuidanceState = z.infer<typeof GuidanceState>;
export type Counts = z.infer<typeof Counts>;
export type StoredRetry = z.infer<typeof Retry>;
export type LeaseNote = z.infer<typeof LeaseNote>;
