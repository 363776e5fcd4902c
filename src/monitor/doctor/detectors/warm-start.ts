import { metric } from "../../../schema/metric-names.ts";
import { mean } from "../../../statistics.ts";
import type { Detector, Finding, RunView, SeriesPoint } from "../detector.ts";
import { learningPoints, percent, short } from "../trend.ts";

const code = "warm-start";
const limits = {
  leastImitationSteps: 10,
  leastPoints: 5,
  falling: 0.05,
  leastLoss: 0.05,
  weak: 0.2,
  leastExpertSuccess: 0.2,
  behind: 0.6,
  narrowEntropy: 0.03,
  uniform: 0.6,
  solved: 0.9,
};

/** Imitation that ended before the policy succeeds as often as what it imitates, or at all, or that left nothing to choose between. */
export const warmStart: Detector = {
  code,
  detect(view) {
    const success = first(learningPoints(view, metric.success));
    if (success === undefined) return [];
    const [unfinished] = [...tooShort(view, success), ...behindDemonstrations(view, success)];
    return [...(unfinished === undefined ? [] : [unfinished]), ...tooNarrow(view, success)];
  },
};

/** Mean of the first steps of learning: what the warm start gave. */
function first(points: readonly SeriesPoint[]): number | undefined {
  return points.length < limits.leastPoints
    ? undefined
    : mean(points.slice(0, limits.leastPoints).map(({ value }) => value));
}

function tooShort(view: RunView, success: number): Finding[] {
  const losses = view.series(metric.imitationLoss).filter(({ value }) => Number.isFinite(value));
  if (losses.length < limits.leastImitationSteps || success >= limits.weak) return [];
  const size = Math.max(3, Math.floor(losses.length / 10));
  const [before, last] = [losses.slice(-2 * size, -size), losses.slice(-size)].map((part) =>
    mean(part.map(({ value }) => value)),
  );
  const fall = 1 - last / before;
  // what is learned by heart goes on falling too
  if (!(fall > limits.falling && last > limits.leastLoss)) return [];
  return [
    {
      code,
      severity: "warning",
      step: learningPoints(view, metric.success)[0].step,
      message: `Imitation ended while its loss was falling (${short(before)} → ${short(last)}), and ${percent(success)} of the first attempts succeed.`,
      evidence: { lossBefore: before, lossAtEnd: last, success },
      remedy: "Raise the steps of imitate: learning from rewards is a slow way to learn how to read and write.",
    },
  ];
}

/** Whoever says what the demonstrations say, with their noise, succeeds as often as they do. */
function behindDemonstrations(view: RunView, success: number): Finding[] {
  const expert = view.series(metric.expertSuccess).at(-1)?.value ?? 0;
  if (expert < limits.leastExpertSuccess || success >= limits.behind * expert) return [];
  return [
    {
      code,
      severity: "warning",
      step: learningPoints(view, metric.success)[0].step,
      message: `${percent(expert)} of the demonstrations succeed, and ${percent(success)} of the first attempts: the policy had not learned to do what it was shown.`,
      evidence: { expertSuccess: expert, success },
      remedy:
        "Raise the steps of imitate or its demonstrations, or lower its noise: random turns teach nothing, and rewards teach slowly what demonstrations would have.",
    },
  ];
}

function tooNarrow(view: RunView, success: number): Finding[] {
  const [entropy, uniform] = [metric.entropy, metric.uniform].map((name) => first(learningPoints(view, name)));
  if (entropy === undefined || uniform === undefined || success >= limits.solved) return [];
  if (!(entropy < limits.narrowEntropy && uniform > limits.uniform)) return [];
  const start = learningPoints(view, metric.success)[0].step;
  return [
    {
      code,
      severity: "warning",
      step: start,
      message: `The policy began with an entropy of ${short(entropy)} nats per token and ${percent(success)} success: in ${percent(uniform)} of groups all attempts got the same reward.`,
      evidence: { entropy, uniformGroups: uniform, success },
      remedy:
        "Imitate more demonstrations for fewer steps, or with some noise, or sample at a higher temperature: groups of equal attempts teach nothing.",
    },
  ];
}
