import { z } from "zod";
import type { RunView } from "./detector.ts";

const Described = z.object({
  algorithm: z
    .object({ groupSize: z.number().optional(), sampling: z.object({ epsilonTool: z.number().optional() }).optional() })
    .optional(),
  policy: z
    .object({ name: z.string().optional(), parameters: z.number().optional(), hasAdapters: z.boolean().optional() })
    .optional(),
});

/** What detectors want to know of a run's configuration, where it says so. */
export interface Settings {
  readonly groupSize?: number | undefined;
  /** How often a turn begins with a call nobody sampled. */
  readonly epsilonTool: number;
  readonly engine?: string | undefined;
  readonly parameters?: number | undefined;
  readonly hasAdapters: boolean;
}

export function settingsOf({ config }: Pick<RunView, "config">): Settings {
  const read = Described.safeParse(config);
  if (!read.success) return { epsilonTool: 0, hasAdapters: false };
  const { algorithm, policy } = read.data;
  return {
    groupSize: algorithm?.groupSize,
    epsilonTool: algorithm?.sampling?.epsilonTool ?? 0,
    engine: policy?.name,
    parameters: policy?.parameters,
    hasAdapters: policy?.hasAdapters ?? false,
  };
}
