import { defined } from "../defined.ts";
import { LudusError } from "../errors.ts";
import { type KnownOptions, refuseUnknownOptions } from "../known-options.ts";
import { createRng } from "../random.ts";
import { hashText } from "../task/seeds.ts";
import type { GroupReward, GroupScore } from "./group-reward.ts";
import { type JudgeClientOptions, judgeClient, knownJudgeClientOptions } from "./judge/judge-client.ts";
import type { Rubric } from "./judge/rubric.ts";
import { attemptSections } from "./judge/trajectory-sections.ts";
import type { Verdict } from "./judge/verdict.ts";

export interface RelativeJudgeOptions<Data> extends JudgeClientOptions {
  /** What the policy was asked to do. */
  task: (task: Data) => string;
  /** What makes one attempt better than another, in a sentence or two. */
  criteria?: string;
  /** What the best possible attempt adds to the score. */
  weight?: number;
  /** The share of the points from which on an attempt counts as a success; the environment's own word by default. */
  successAt?: number;
  /** Longer groups are cut in the middles of their texts. */
  maxChars?: number;
}

const known: KnownOptions<RelativeJudgeOptions<unknown>> = {
  ...knownJudgeClientOptions,
  task: true,
  criteria: true,
  weight: true,
  successAt: true,
  maxChars: true,
};

const points = 10;
const defaultCriteria =
  "An attempt that reaches the goal beats every attempt that does not; of two that reach it, the more direct one is better; of two that do not, the one that came nearer.";

/**
 * A language model that ranks the attempts of a group against each other (as ART's RULER does): it is shown all of them at once and
 * gives each 0 to 10 points. Comparing is easier than scoring one attempt alone, and group-relative credit needs no more than the
 * comparison.
 *
 *     groupReward: relativeJudge({
 *       endpoint: "http://127.0.0.1:8000/v1",
 *       models: ["judge-small"],
 *       task: (task: Question) => task.question,
 *     })
 *
 * Attempts are shown in another order in each group, so that a preference for the first place favours none of them.
 */
export function relativeJudge<Data>(options: RelativeJudgeOptions<Data>): GroupReward<Data> {
  refuseUnknownOptions("relativeJudge", options, known);
  const { task: asked, criteria = defaultCriteria, weight = 1, successAt, maxChars = 120_000, ...rest } = options;
  if (!(weight > 0 && Number.isFinite(weight))) {
    throw new LudusError("bad-judge", { got: `weight ${weight}`, expected: "a number above 0" });
  }
  const client = judgeClient(rest);
  const instructions = `You compare ATTEMPTS of an agent at the same task. You are shown the task, and for each attempt what the agent said (POLICY) and what it was told (ENVIRONMENT). ${criteria} Give attempts of the same quality the same points.`;
  return async function relativeJudge({ id, task, attempts, signal }) {
    const order = shuffledPlaces(attempts.length, id);
    const rubric = order.map((_, place) => ({
      id: `attempt-${place + 1}`,
      text: `how good attempt ${place + 1} is beside the others`,
      points,
    })) satisfies Rubric;
    const shown = order.map((index) => attempts[index]);
    const sections = [{ label: "TASK", text: asked(task) }, ...attemptSections(shown, maxChars)];
    const verdicts = await client.ask({ instructions, rubric, sections }, signal);
    return attempts.map((_, index): GroupScore => {
      const share = meanOf(verdicts, order.indexOf(index));
      const success = successAt === undefined ? undefined : share > successAt - 1e-9;
      return { parts: { judge: weight * share }, ...defined({ success }) };
    });
  };
}

function meanOf(verdicts: readonly Verdict[], place: number): number {
  return verdicts.reduce((sum, verdict) => sum + verdict[place], 0) / verdicts.length;
}

/** Which attempt stands at each place; the same for the same group. */
function shuffledPlaces(count: number, id: string): number[] {
  const rng = createRng(hashText(id));
  const places = Array.from({ length: count }, (_, index) => index);
  for (let last = count - 1; last > 0; last--) {
    const other = rng.integer(last + 1);
    [places[last], places[other]] = [places[other], places[last]];
  }
  return places;
}
