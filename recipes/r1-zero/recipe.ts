import { cosine, type Env, type EvalReport, fromScratch, grpo, imitate } from "ludus";
import { type CountdownTask, countdown } from "ludus/environments";
import { formats } from "ludus/policy";
import type { Beginning, Recipe } from "ludus/recipe";
import { signedTerms } from "../signed-terms.ts";
import { r1ZeroClaims } from "./claims.ts";

type Counting = Env<CountdownTask, undefined>;

const plain = countdown({ counts: [3], maxNumber: 9, minTarget: 1, maxTarget: 27, operators: ["+", "-"] });
const policy = fromScratch({ size: "tiny", tokenizer: "bytes", contextLength: 256 });
const steps = 100;
const tasksPerStep = 16;
const learningRate = 7e-4;
/** Sums that a demonstration tries before it answers: right ones and wrong ones, with what they come to. */
const tries = 2;

/** R1-Zero's template: a thought, then an answer; 1 for a right answer and 0.1 for the format. Thoughts may be as long as they like. */
const thinking: Counting = {
  ...plain,
  format: formats.thinkAnswer(),
  limits: { ...plain.limits, turnTokens: 160, tokens: 160 },
  async score(episode) {
    const text = episode.turns[0]?.text ?? "";
    const isFormatted = /^<think>[^<]*<\/think>\s*<answer>[^<]*<\/answer>$/.test(text.trim());
    const isRight = (await plain.score!(episode)) === 1;
    return {
      total: (isRight ? 1 : 0) + (isFormatted ? 0.1 : 0),
      parts: { outcome: isRight ? 1 : 0, format: isFormatted ? 0.1 : 0 },
      success: isRight,
    };
  },
  expert(context) {
    const drawn = Array.from({ length: tries }, () => String(plain.actions!(context)[0]));
    const right = context.rng.next() < 0.3 ? String(plain.expert!(context)) : drawn[0];
    return { thought: [...drawn, right].map((sum) => `${sum}=${totalOf(sum)}`).join(" "), answer: right };
  },
};

/** The same from the same demonstrations, without what was thought. */
const silent: Counting = {
  ...plain,
  expert: (context) => (context.rng.next() < 0.3 ? plain.expert!(context) : plain.actions!(context)[0]),
};

function totalOf(sum: string): number {
  return (signedTerms(sum) ?? []).reduce((all, term) => all + term, 0);
}

export const r1Zero: Recipe = {
  system: "r1-zero",
  title: "DeepSeek-R1-Zero",
  measures: { success: "right", thought: "characters thought", formatted: "in the format", seconds: "seconds" },
  claims: r1ZeroClaims,
  async run(lab) {
    const warmStart = imitate({ demonstrations: 1500, steps: 200, learningRate: cosine(2e-3, 0.1) });
    const start = await lab.begin({ env: thinking, policy, warmStart });
    await lab.arm("warm start", async (arm) => {
      await start.restore();
      arm.measure({ ...measured(await start.evaluate()), seconds: start.seconds });
    });
    await trained(lab, "R1-Zero", start);
    const mute = await lab.begin({ env: silent, policy, warmStart });
    await trained(lab, "without thoughts", mute);
  },
};

async function trained(
  lab: Parameters<Recipe["run"]>[0],
  name: string,
  start: Beginning<CountdownTask, undefined>,
): Promise<void> {
  await lab.arm(name, async (arm) => {
    const algorithm = grpo({ learningRate, kl: 0.001 });
    const { history, seconds } = await start.train(name, { algorithm, steps, tasksPerStep });
    arm.measure({ ...measured(await start.evaluate()), seconds });
    arm.curve(
      "success",
      history.map((step) => step["rollout/success"] ?? 0),
    );
    arm.curve(
      "tokens",
      history.map((step) => step["rollout/sampled-tokens"] ?? 0),
    );
  });
}

function measured(report: EvalReport): Record<string, number | EvalReport> {
  const texts = report.rollouts.map(({ trajectories }) => trajectories[0].turns[0]?.text ?? "");
  const thoughts = texts.map((text) => /<think>(.*?)<\/think>/s.exec(text)?.[1].length ?? 0);
  const formatted = texts.filter((text) => /<answer>[^<]*<\/answer>$/.test(text.trim())).length;
  return {
    success: report,
    thought: thoughts.reduce((sum, length) => sum + length, 0) / thoughts.length,
    formatted: formatted / texts.length,
  };
}
