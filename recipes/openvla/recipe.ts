import { cosine, fromScratch, grpo, imitate } from "ludus";
import { type ReacherArm, reacher, reacherActions } from "ludus/environments";
import { type ActionBins, type ActionBinsOptions, actionBins, actionTokenizer } from "ludus/policy";
import type { Lab, Recipe } from "ludus/recipe";
import { openVlaClaims } from "./claims.ts";

const outlierShare = 0.005;
/** Another machine: its first joint goes less far, its second the other way. */
const newArm: ReacherArm = { gain: [0.7, -1] };
const ways: readonly [string, Partial<ActionBinsOptions>][] = [
  ["quantiles, 256 bins", {}],
  ["extremes, 256 bins", { range: "extremes" }],
  ["quantiles, 8 bins", { bins: 8 }],
];
const many = imitate({ demonstrations: 3000, steps: 300, learningRate: cosine(1e-3, 0.1) });
const few = imitate({ demonstrations: 150, steps: 100, learningRate: cosine(1e-3, 0.1) });

export const openVla: Recipe = {
  system: "openvla",
  title: "OpenVLA's action bins",
  measures: { success: "target reached", turns: "turns", width: "width of a bin, 1/1000", seconds: "seconds" },
  claims: openVlaClaims,
  async run(lab) {
    for (const [name, options] of ways) {
      const bins = actionBins(reacherActions({ outlierShare, seed: lab.seed }), options);
      if (name === "quantiles, 256 bins") await onBothArms(lab, name, bins);
      else {
        await lab.arm(name, async (arm) => {
          const start = await begin(lab, bins);
          const { seconds } = await start.train(name, { warmStart: many, algorithm: grpo(), steps: 0 });
          const report = await start.evaluate({ temperature: 0 });
          arm.measure({ success: report, turns: report.turns, width: widthOf(bins), seconds });
        });
      }
    }
  },
};

/** One tokenizer for all: a token for each bin, besides the bytes. */
const policy = () => fromScratch({ size: "tiny", threads: 1, tokenizer: actionTokenizer(), contextLength: 96 });
const begin = (lab: Lab, bins: ActionBins) => lab.begin({ env: reacher({ bins, outlierShare }), policy: policy() });

/** The policy of one arm, and what becomes of it on another one: as it is, adapted, and against one that begins there. */
async function onBothArms(lab: Lab, name: string, bins: ActionBins): Promise<void> {
  const other = reacher({ bins, outlierShare, arm: newArm });
  await lab.arm(name, async (arm) => {
    const start = await begin(lab, bins);
    const measured = async (env?: typeof other) => {
      const report = await start.evaluate({ temperature: 0, ...(env && { env }) });
      return { success: report, turns: report.turns, width: widthOf(bins) };
    };
    const { seconds } = await start.train(name, { warmStart: many, algorithm: grpo(), steps: 0 });
    arm.measure({ ...(await measured()), seconds });
    arm.also("new arm, not adapted", await measured(other));
    const adapting = { env: other, warmStart: few, algorithm: grpo(), steps: 0 };
    const adapted = await start.trainOn("new arm, adapted", adapting);
    arm.also("new arm, adapted", { ...(await measured(other)), seconds: adapted.seconds });
    const fresh = await start.train("new arm, from scratch", adapting);
    arm.also("new arm, from scratch", { ...(await measured(other)), seconds: fresh.seconds });
  });
}

/** Of the first joint, in thousandths. */
function widthOf({ bins, bounds }: ActionBins): number {
  const [low, high] = bounds[0]!;
  return (1000 * (high - low)) / bins;
}
