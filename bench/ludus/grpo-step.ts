import { defineEnv } from "../../src/env/define-env.ts";
import { compactRenderer } from "../../src/policy/compact-renderer.ts";
import { listed } from "../../src/task/listed.ts";
import type { WorkloadOf } from "../child/protocol.ts";
import { openPolicy, type Prepared } from "./prepared.ts";
import { prepareTrainSteps } from "./train-steps.ts";

/** Steps of `train` on completions of one turn. */
export async function prepareGrpoStep(workload: WorkloadOf<"grpo-step">, threads: number): Promise<Prepared> {
  const { model, prompts, maxTokens } = workload;
  const { engine, tokenizer } = await openPolicy(model, threads);
  const env = defineEnv({
    name: "distinct-characters",
    tasks: listed({ train: prompts, test: prompts }),
    start: ({ task }) => ({ state: null, say: task }),
    score: ({ turns: [{ text }] }) => ({ distinct: new Set(text).size }),
    limits: { turns: 1, turnTokens: maxTokens, tokens: maxTokens },
  });
  const policy = { engine, tokenizer, renderer: compactRenderer({ tokenizer }) };
  return await prepareTrainSteps({ ...workload, env, policy, tasksPerStep: prompts.length });
}
