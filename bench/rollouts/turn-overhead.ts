import { z } from "zod";
import { defineEnv } from "../../src/env/define-env.ts";
import type { Env } from "../../src/env/env.ts";
import { byteTokenizer } from "../../src/policy/byte-tokenizer.ts";
import { chatRenderer } from "../../src/policy/chat-renderer.ts";
import { compactRenderer } from "../../src/policy/compact-renderer.ts";
import { compact } from "../../src/policy/formats/compact.ts";
import { plain } from "../../src/policy/formats/plain.ts";
import type { Renderer } from "../../src/policy/renderer.ts";
import { runRollout } from "../../src/rollout/run-rollout.ts";
import { generated } from "../../src/task/generated.ts";
import { tool } from "../../src/tool/define-tool.ts";
import { median } from "../statistics.ts";
import { immediateEngine } from "./immediate-engine.ts";

const turns = 16;
const rolloutsPerRound = 64;

export interface TurnOverhead {
  name: string;
  /** Medians over rounds of 64 rollouts of 16 turns, run side by side. */
  microseconds: number;
  runs: number[];
}

const acting = defineEnv({
  name: "acting",
  tasks: generated(() => null),
  start: () => ({ state: null, say: "Guess my number, 1 to 100." }),
  act: () => ({ say: "higher" }),
  limits: { turns },
  format: plain(),
});

const calling = defineEnv({
  name: "calling",
  tasks: generated(() => null),
  start: () => ({ state: null, say: "Guess my number, 1 to 100." }),
  tools: { guess: tool({ input: z.object({ number: z.number() }), run: () => "higher" }) },
  limits: { turns },
  format: compact(),
});

const renderers = (): [string, Renderer][] => {
  const tokenizer = byteTokenizer();
  return [
    ["compact renderer", compactRenderer({ tokenizer })],
    ["chat template", chatRenderer({ tokenizer })],
  ];
};

export async function measureTurnOverhead(rounds: number, signal: AbortSignal): Promise<TurnOverhead[]> {
  const measured: TurnOverhead[] = [];
  for (const [rendererName, renderer] of renderers()) {
    for (const [name, env, says] of [
      ["act", acting as Env, "50"],
      ["tool call", calling as Env, "guess 50"],
    ] as const) {
      const runs: number[] = [];
      for (let round = 0; round < rounds + 2; round++) {
        signal.throwIfAborted();
        const microseconds = await timeRound(env, renderer, says, signal);
        if (round >= 2) runs.push(microseconds);
      }
      measured.push({ name: `${name}, ${rendererName}`, microseconds: median(runs), runs });
    }
  }
  return measured;
}

async function timeRound(env: Env, renderer: Renderer, says: string, signal: AbortSignal): Promise<number> {
  const policy = immediateEngine(renderer, () => says);
  const task = await env.tasks.at("train", 0);
  const started = performance.now();
  const rollouts = await Promise.all(
    Array.from({ length: rolloutsPerRound }, (_, index) =>
      runRollout(env, task, policy, { id: `${index}`, seed: index, signal }),
    ),
  );
  const milliseconds = performance.now() - started;
  const taken = rollouts.reduce((sum, { trajectories }) => sum + trajectories[0].turns.length, 0);
  if (taken !== turns * rolloutsPerRound) throw new Error(`${taken} turns were taken: ${rollouts[0].failure}`);
  return (milliseconds * 1000) / taken;
}
