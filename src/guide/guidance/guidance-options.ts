import type { KnownOptions } from "../../known-options.ts";
import type { MakeGuide } from "../guide.ts";
import type { HintGenerator } from "./hints.ts";

export interface GuidanceOptions {
  hints: HintGenerator;
  /** Where fresh tasks come from. */
  tasks: MakeGuide;
  /**
   * How likely a task that no attempt solved is tried again with a hint, by the moving share of attempts without one that
   * succeed. By default what is missing to 1: no help for those who need none.
   */
  probability: (passRate: number) => number;
  /** Of the tasks that are asked for, how many are guided retries at most. */
  share: number;
  /** Guided retries of a task, each with the generator's next hint; after so many it is given up until its turn comes again. */
  retries: number;
  /** Tasks that wait for their retry; beyond, those that have waited longest are dropped. */
  waiting: number;
  /** Groups that the moving pass rate looks back at. */
  window: number;
  /** Of the draws by `probability`. Not the run's by default: runs of several seeds then differ in their policies alone. */
  seed: number;
}

export const knownGuidanceOptions: KnownOptions<GuidanceOptions> = {
  hints: true,
  tasks: true,
  probability: true,
  share: true,
  retries: true,
  waiting: true,
  window: true,
  seed: true,
};
