import { join } from "node:path";
import { embedded } from "../../src/engine/embedded/embedded.ts";
import type { Env } from "../../src/env/env.ts";
import { LudusError } from "../../src/errors.ts";
import { byteTokenizer } from "../../src/policy/byte-tokenizer.ts";
import { chatRenderer } from "../../src/policy/chat-renderer.ts";
import type { Tokenizer } from "../../src/policy/tokenizer.ts";
import { trainBpe } from "../../src/policy/train-bpe.ts";
import { metric } from "../../src/schema/metric-names.ts";
import { generated } from "../../src/task/generated.ts";
import { grpo } from "../../src/train/presets/grpo.ts";
import { cosine } from "../../src/train/schedule.ts";
import { train } from "../../src/train/train-sync.ts";
import { imitate } from "../../src/train/warm-start.ts";
import { benchModelConfig } from "../engine/make-model.ts";
import { type SearchTask, type SearchWorld, searchEnv } from "./search-env.ts";

export interface MakeAgentOptions {
  world: SearchWorld;
  turns: number;
  turnTokens: number;
  /** At which it must call its tool in every turn. */
  temperature: number;
  signal: AbortSignal;
  progress(line: string): void;
}

const steps = 300;

/** A random model calls no tool. This one has imitated the expert until it does in every turn; saved for all sides to load. */
export async function makeAgent(parent: string, options: MakeAgentOptions) {
  const { world, turns, turnTokens, temperature, signal, progress } = options;
  const tasks = generated((rng) => world.drawTask(rng), { name: "search", seed: 0, key: ({ question }) => question });
  const env = searchEnv({ tasks, facts: world.facts, turns, turnTokens });
  const tokenizer = await makeTokenizer(env);
  const engine = await embedded({ model: benchModelConfig(tokenizer), tokenizer, seed: 1 });
  const folder = join(parent, "agent");
  try {
    const { metrics } = await train({
      env,
      policy: { engine, renderer: chatRenderer({ tokenizer }), tokenizer },
      warmStart: imitate({ demonstrations: 1000, steps, batchSize: 8, learningRate: cosine(3e-3, 0.05) }),
      // one step without learning tells how it plays
      algorithm: grpo({ groupSize: 8, temperature, learningRate: 0 }),
      steps: 1,
      tasksPerStep: 16,
      eval: { tasks: 0 },
      signal,
      monitors: [{ name: "bench", record: (event) => event.type === "step-end" && tell(event.step, event.metrics) }],
    });
    signal.throwIfAborted();
    await engine.save(folder);
    checkCalls(metrics, turns);
    return { folder, parameters: engine.info.parameters };
  } finally {
    await engine.close();
  }

  function tell(step: number, told: Readonly<Record<string, number>>): void {
    if (step % 20 !== 0 || step >= steps) return;
    progress(`imitating the expert: step ${step}/${steps}, loss ${told[metric.loss].toFixed(3)}`);
  }
}

/** One that knows the words of the conversations, as a tokenizer of a large model does. */
async function makeTokenizer(env: Env<SearchTask>): Promise<Tokenizer> {
  const bytes = byteTokenizer();
  const tools = Object.entries(env.tools ?? {}).map(([name, { spec }]) => ({ name, ...spec }));
  const prompt = bytes.decode(chatRenderer({ tokenizer: bytes }).start([], tools));
  const plays = await env.sampleTexts(64, 1);
  return trainBpe({ texts: plays.flatMap((texts) => [prompt, ...texts]), vocabularySize: 512 });
}

function checkCalls(metrics: Readonly<Record<string, number>>, turns: number): void {
  const played = (metrics[metric.toolCalls] ?? 0) * (1 - (metrics[metric.toolErrors] ?? 0));
  if (played >= 0.98 * turns) return;
  throw new LudusError("agent-not-ready", {
    got: `${played.toFixed(2)} turns with a call that can be read, after ${steps} steps of imitation`,
    expected: `${turns}, but for one in fifty`,
    hint: "More steps in bench/turns/make-agent.ts.",
  });
}
