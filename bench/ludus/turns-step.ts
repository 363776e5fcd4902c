import { delegate } from "../../src/engine/delegate.ts";
import type { Engine } from "../../src/engine/engine.ts";
import { chatRenderer } from "../../src/policy/chat-renderer.ts";
import { metric } from "../../src/schema/metric-names.ts";
import { listed } from "../../src/task/listed.ts";
import type { Run, WorkloadOf } from "../child/protocol.ts";
import { searchEnv } from "../turns/search-env.ts";
import { openPolicy, type Prepared } from "./prepared.ts";
import { prepareTrainSteps } from "./train-steps.ts";

/** Steps of `train` on episodes of several turns, each with a call of a tool. */
export async function prepareTurnsStep(workload: WorkloadOf<"turns-step">, threads: number): Promise<Prepared> {
  const { model, tasks, facts, turns, turnTokens, tasksPerStep, groupSize } = workload;
  const { engine: whole, tokenizer } = await openPolicy(model, threads);
  const { engine, samplingSeconds } = watchSampling(whole);
  const env = searchEnv({ tasks: listed({ train: tasks, test: tasks }), facts, turns, turnTokens });
  const policy = { engine, tokenizer, renderer: chatRenderer({ tokenizer }) };
  const rollouts = tasksPerStep * groupSize;
  return await prepareTrainSteps({
    ...workload,
    env,
    policy,
    describe: (metrics, seconds) => ({
      counts: {
        rollouts,
        turns: Math.round(metrics[metric.turns] * rollouts),
        // the two are absent where no tool was called at all
        calls: Math.round((metrics[metric.toolCalls] ?? 0) * (1 - (metrics[metric.toolErrors] ?? 0)) * rollouts),
        sampled: metrics[metric.sampledTokens],
        trained: Math.round(metrics[metric.sampledTokens] * metrics["filter/kept-groups"]),
        rows: Math.round(metrics[metric.tokens] * rollouts),
      },
      stages: stagesOf(metrics, seconds, samplingSeconds()),
    }),
  });
}

function stagesOf(metrics: Readonly<Record<string, number>>, seconds: number, sampling: number): Run["stages"] {
  const [rollout, credit, update] = ["rollout", "credit", "update"].map((stage) => metrics[metric.seconds(stage)]);
  return {
    sampling,
    // an attempt is scored while others still play
    "tools, conversations, rewards": rollout - sampling,
    credit,
    update,
    "store and the rest": seconds - rollout - credit - update,
  };
}

/** Seconds in which at least one sample was awaited, since they were last asked for. */
function watchSampling(engine: Engine): { engine: Engine; samplingSeconds(): number } {
  let [pending, since, milliseconds] = [0, 0, 0];
  const sample: Engine["sample"] = async (request, signal) => {
    if (pending++ === 0) since = performance.now();
    try {
      return await engine.sample(request, signal);
    } finally {
      if (--pending === 0) milliseconds += performance.now() - since;
    }
  };
  return {
    engine: delegate(engine, { sample }),
    samplingSeconds() {
      const seconds = milliseconds / 1000;
      milliseconds = 0;
      return seconds;
    },
  };
}
