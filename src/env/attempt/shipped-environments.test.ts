import { describe, expect, test } from "vitest";
import { byteTokenizer } from "../../policy/byte-tokenizer.ts";
import { chatRenderer } from "../../policy/chat-renderer.ts";
import { compactRenderer } from "../../policy/compact-renderer.ts";
import { callFormats } from "../../policy/formats/call-formats.ts";
import type { Renderer } from "../../policy/renderer.ts";
import { awkwardTexts, randomTexts } from "../../policy/tokenizer.contract.ts";
import { trainBpe } from "../../policy/train-bpe.ts";
import { createRng } from "../../random.ts";
import { fullContext, lastTurns, observationStubs } from "../../rollout/context.ts";
import type { Rollout, RolloutOptions } from "../../rollout/rollout.ts";
import { engineSpeaker } from "../../rollout/speaker.ts";
import { isInfrastructureStop } from "../../schema/stop-reason.ts";
import type { Env } from "../env.ts";
import { playEpisode } from "./attempt-episode.ts";
import { babble } from "./contract/babble.ts";
import { checkPromptsGrow, checkTokens } from "./contract/check-tokens.ts";
import { type ScriptedEngine, scriptedEngine } from "./contract/scripted-engine.ts";
import { shippedEnvironments } from "./contract/shipped-environments.ts";

const bytes = byteTokenizer();
const bpe = trainBpe({ texts: ["Up Down Left Right search the answer is <answer> think"], vocabularySize: 320 });
const renderContexts = [
  { tokenizer: bytes, renderer: compactRenderer({ tokenizer: bytes }) },
  { tokenizer: bpe, renderer: compactRenderer({ tokenizer: bpe }) },
  { tokenizer: bytes, renderer: chatRenderer({ tokenizer: bytes }) },
  { tokenizer: bpe, renderer: chatRenderer({ tokenizer: bpe }) },
];
type RenderContext = (typeof renderContexts)[number];
const strangeTexts = [...awkwardTexts, ...randomTexts(5, 50)];
const environments = await shippedEnvironments();

/** Whatever comes to mind, through an engine: the renderer may make tokens of what is read, never of what was said. */
async function play(env: Env, renderContext: RenderContext, seed: number, options: Partial<RolloutOptions>) {
  const { tokenizer } = renderContext;
  const rng = createRng(seed);
  let words = new Int32Array(0);
  const renderer: Renderer = {
    ...renderContext.renderer,
    say: () => {
      throw new Error("what was said was made into tokens again");
    },
  };
  const contextLength = 600 + rng.integer(6_000);
  const policy = scriptedEngine({ tokenizer, renderer, contextLength, says: () => words });
  const task = await env.tasks.at("train", seed);
  const given = { id: "r", seed, limits: { turns: 8, turnTokens: 24 + rng.integer(60) }, ...options };
  const speak = engineSpeaker(policy, given);
  const played = await playEpisode(env, task, policy, given, (request, episode) => {
    words = babble(rng, episode, { ...renderContext, strangeTexts }) as typeof words;
    return speak(request, episode);
  });
  return { rollout: await played.score(), samples: policy.samples, contextLength };
}

/** What each role of an environment sampled, and what is learned from it. */
function byRole(env: Env, { trajectories }: Rollout, samples: ScriptedEngine["samples"]) {
  return env.roles.map((role) => ({
    trajectories: trajectories.filter((trajectory) => trajectory.role === role),
    samples: samples.filter(({ request }) => request.rollout === `r/${role}`),
  }));
}

function checkEnd({ stop, failure }: Rollout): void {
  expect(failure).toBeUndefined();
  expect(isInfrastructureStop(stop)).toBe(false);
}

test("there are environments to play in", () => {
  expect(environments.length).toBeGreaterThanOrEqual(16);
});

describe.each(environments)("%s", (_, env) => {
  const formats = [env.format, ...Object.values(callFormats).map((make) => make())];

  test("in every format, whatever is said is recorded as it was sampled", async () => {
    for (const [f, format] of formats.entries()) {
      const renderContext = renderContexts[f % 2];
      for (const [s, { tokenizer, renderer }] of [renderContext, renderContexts[2 + (f % 2)]].entries()) {
        const { rollout, samples } = await play(env, { tokenizer, renderer }, f * 10 + s, {
          format,
          context: fullContext(),
        });
        checkEnd(rollout);
        for (const { trajectories, samples: sampled } of byRole(env, rollout, samples)) {
          checkPromptsGrow(sampled);
          checkTokens(trajectories, sampled);
          expect(trajectories.length).toBe(sampled.length === 0 ? 0 : 1);
          const texts = trajectories.flatMap(({ turns }) => turns.map(({ text }) => text));
          expect(texts).toEqual(sampled.map(({ sample }) => renderer.read(sample.tokens)));
        }
      }
    }
  });

  test("whatever of the past it sees, a turn is learned from once, under its own prompt", async () => {
    for (const [c, context] of [lastTurns(0), lastTurns(1), lastTurns(3), observationStubs()].entries()) {
      for (const [s, renderContext] of renderContexts.entries()) {
        const { rollout, samples, contextLength } = await play(env, renderContext, 100 + c * 10 + s, { context });
        checkEnd(rollout);
        for (const role of byRole(env, rollout, samples)) checkTokens(role.trajectories, role.samples);
        for (const { tokens_T } of rollout.trajectories) expect(tokens_T.length).toBeLessThanOrEqual(contextLength);
      }
    }
  });
});
