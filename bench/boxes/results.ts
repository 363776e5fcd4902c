import { z } from "zod";
import type { AboutRun } from "../about-run.ts";

const figures = z.object({
  /** From `open` to the answer of the first call: of a box that was started ahead, asked for at an even rate. */
  start_ms_p50: z.number().optional(),
  /** The same of one that was not, one box after the other. */
  cold_start_ms_p50: z.number().optional(),
  calls_per_s: z.number().optional(),
  held: z.number().optional(),
  /** Memory of its processes, shared pages divided among those who share them, and what this program grew by. */
  host_rss_mb_per_box: z.number().optional(),
  /** What the system had less, its own share of each box included. */
  system_mb_per_box: z.number().optional(),
});
export type Figures = z.infer<typeof figures>;

const both = z.object({ python: figures, node: figures });

export const boxesResults = z.object({
  about: z.custom<AboutRun>((value) => typeof value === "object" && value !== null),
  versions: z.record(z.string(), z.string()).optional(),
  coresOfOthers: z.number().optional(),
  python: figures,
  /** One Node for the calls of a box. */
  node: figures,
  /** A Node for each call, started ahead of it. */
  nodeSpare: figures.optional(),
  /** A Node that is started by the call. */
  nodeNotWarm: figures.optional(),
  plainBwrap: both,
  /** `run` of a container engine, or why it was not measured. */
  container: z.union([both.extend({ command: z.string() }), z.object({ notMeasured: z.string() })]).optional(),
  /** From `open({ image })` to a command that has read one of 200 files. */
  restore_ms_p50: z.number(),
});
export type BoxesResults = z.infer<typeof boxesResults>;

/** What is wanted, of Python and of Node. */
export const goals = { start_ms_p50: 20, calls_per_s: 300, held: 500, host_rss_mb_per_box: 4 } as const;
