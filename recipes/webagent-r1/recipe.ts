import {
  type Algorithm,
  type Context,
  type Env,
  type EvalReport,
  formats,
  fromScratch,
  mGrpo,
  observationStubs,
} from "ludus";
import type { BrowserEnvState, BrowserEnvTask } from "ludus/environments";
import { contextMismatch } from "ludus/eval";
import type { Beginning, Lab, Recipe } from "ludus/recipe";
import { lessons, missingOf, stallEnv } from "../stall.ts";
import { webAgentR1Claims } from "./claims.ts";

type WebEnv = Env<BrowserEnvTask, BrowserEnvState>;
type Start = Beginning<BrowserEnvTask, BrowserEnvState>;

const interactions = 12;
const fewInteractions = 6;
// names of elements instead of refs: 0.3M parameters do not learn in minutes to look refs up
const pages: WebEnv = stallEnv([1, 2, 3], { turns: interactions });

const policy = fromScratch({ size: "tiny", threads: 1, tokenizer: 400 });
const algorithm = (): Algorithm => mGrpo({ groupSize: 8, learningRate: 6e-4, kl: 0.001, miniBatches: 4 });
const learning = { steps: 20, tasksPerStep: 32 };
/** The template that earlier pages are replaced by; the published one is as long as our pages. */
const stub = "...";

/** R1-CoT: the expert says what is to be bought next before it does something. */
function withThoughts(env: WebEnv): WebEnv {
  return {
    ...env,
    format: formats.thinkAnswer(),
    limits: { ...env.limits, turnTokens: 32 },
    expert(context) {
      const said = env.expert!(context);
      if (typeof said !== "string") return said;
      return { thought: nextWanted(context), answer: said };
    },
  };
}

function nextWanted({ task, state }: { task: BrowserEnvTask; state: BrowserEnvState }): string {
  return `next ${missingOf(task, state.backend.data.stall!)[0] ?? "pay"}`;
}

export const webAgentR1: Recipe = {
  system: "webagent-r1",
  title: "WebAgent-R1: M-GRPO on web pages",
  measures: {
    success: "solved",
    turns: "interactions",
    tokens: "tokens said",
    prompt: "longest prompt",
    promptShare: "longest prompt / uncompressed",
    mismatch: "mismatch of compressed training",
    seconds: "seconds",
  },
  claims: webAgentR1Claims,
  async run(lab) {
    const zero = await lab.begin({ env: pages, policy });
    await lab.arm("zero", async (arm) => arm.measure(await measured(zero)));
    await trained(lab, zero, "zero + M-GRPO");

    const cloned = await lab.begin({ env: pages, policy, warmStart: lessons() });
    await lab.arm("BC", async (arm) => arm.measure({ ...(await measured(cloned)), seconds: cloned.seconds }));
    await lab.arm("BC + M-GRPO", async (arm) => {
      const { seconds } = await cloned.train("BC + M-GRPO", { algorithm: algorithm(), ...learning });
      const report = await cloned.evaluate();
      arm.measure({ ...figures(report), promptShare: 1, mismatch: 0, seconds });
      const few = await cloned.evaluate({ limits: { turns: fewInteractions } });
      arm.also(`BC + M-GRPO, ${fewInteractions} interactions`, figures(few));
    });

    const thinking = withThoughts(pages);
    const warmStart = lessons(withThoughts(stallEnv([1])));
    const thoughtful = await lab.begin({ env: thinking, policy, warmStart });
    await lab.arm("BC with thoughts", async (arm) =>
      arm.measure({ ...(await measured(thoughtful)), seconds: thoughtful.seconds }),
    );
    await trained(lab, thoughtful, "BC with thoughts + M-GRPO");
    await compressed(lab, cloned);
  },
};

function trained(lab: Lab, start: Start, name: string): Promise<void> {
  return lab.arm(name, async (arm) => {
    const { seconds } = await start.train(name, { algorithm: algorithm(), ...learning });
    arm.measure({ ...(await measured(start)), seconds });
  });
}

/** The same tasks, weights and steps, with earlier pages replaced; prompts are compared with those of the same policy that sees all. */
function compressed(lab: Lab, start: Start): Promise<void> {
  const context = observationStubs(stub);
  return lab.arm("BC + M-GRPO, compressed", async (arm) => {
    const { seconds } = await start.train("BC + M-GRPO, compressed", {
      ...{ algorithm: algorithm(), ...learning, rollout: { context } },
    });
    const [short, long] = [await start.evaluate({ context }), await start.evaluate()];
    const promptShare = promptOf(short) / promptOf(long);
    const { logprobDifference: mismatch } = await contextMismatch(start.policy.engine, short.rollouts.slice(0, 100));
    // nothing to differ where no episode had a second page
    arm.measure({ ...figures(short), promptShare, mismatch: Number.isNaN(mismatch) ? 0 : mismatch, seconds });
  });
}

async function measured(start: Start, context?: Context) {
  return figures(await start.evaluate(context === undefined ? {} : { context }));
}

function figures(report: EvalReport) {
  return { success: report, turns: report.turns, tokens: report.sampledTokens, prompt: promptOf(report) };
}

/** Tokens before the last turn, or before any turn where one had more: the mean over episodes. */
function promptOf({ rollouts }: EvalReport): number {
  const longest = rollouts.map(({ trajectories }) =>
    Math.max(...trajectories.map(({ turns, tokens_T }) => turns.at(-1)?.span.start ?? tokens_T.length)),
  );
  return longest.reduce((sum, tokens) => sum + tokens, 0) / longest.length;
}
