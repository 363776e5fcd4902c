import { z } from "zod";
import { failureSources } from "./failure.ts";
import { infrastructureStops } from "./stop-reason.ts";

/** A failure that JSON held. */
export const FailureFields = z.object({
  during: z.enum(failureSources),
  stop: z.enum(infrastructureStops),
  message: z.string(),
  at: z.string().exactOptional(),
  count: z.number(),
  rollout: z.string(),
});
