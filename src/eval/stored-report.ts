import { z } from "zod";
import { FailureFields } from "../schema/failure-json.ts";
import type { EvalReport } from "./evaluate.ts";

// the interval of a single task is as wide as can be, which z.number() refuses
const bound = z.custom<number>((value) => typeof value === "number");
const wide = z.object({ mean: z.number(), low: bound, high: bound });
/** Reports of earlier versions have pass rates without an interval. */
const rate = z.union([wide, z.number().transform((mean) => ({ mean, low: 0, high: 1 }))]);
const rates = z.record(z.string(), rate);
const numbers = z.record(z.string(), z.number());
const Report = z.object({
  split: z.string(),
  tasks: z.number(),
  attempts: z.number(),
  success: wide,
  reward: wide,
  passAtK: rates,
  passHatK: rates,
  successByTask: numbers.default({}),
  stops: numbers,
  infrastructureFailures: z.number(),
  // reports of earlier versions have none
  failures: z.array(FailureFields).default([]),
  turns: z.number(),
  sampledTokens: z.number(),
});

/** A report as it was stored: whole but for its rollouts. */
export function evalReportFromJson(value: unknown): EvalReport {
  return { ...Report.parse(renamed(value)), rollouts: [] };
}

/** Reports of earlier versions say `spoiled`. */
function renamed(value: unknown): unknown {
  if (typeof value !== "object" || value === null || !("spoiled" in value)) return value;
  const { spoiled, ...rest } = value;
  return { infrastructureFailures: spoiled, ...rest };
}
