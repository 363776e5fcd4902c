import { onWorkers } from "../../src/rollout/index.ts";
import { postgres } from "../../src/store/index.ts";
import { fakePolicy } from "../../src/train/fixtures/fake-policy.ts";
import { letters } from "../../src/train/fixtures/letters.ts";
import { grpo, type TrainConfig } from "../../src/train/index.ts";

// A run that costs nothing and takes some seconds: what is done to it is what matters.

const connect = process.env.LUDUS_FAULTS_URL ?? "";
export const groupsPerStep = 8;
export const groupSize = 4;
export const steps = 14;

export const slowPolicy = () => fakePolicy(0.5, { beforeSample: () => new Promise((done) => setTimeout(done, 60)) });

/** Addresses of samplers in processes of their own, as JSON; without them the trainer serves its engine. */
const samplers = process.env.LUDUS_FAULTS_SAMPLERS;

export const config = (): TrainConfig => ({
  env: onWorkers(letters({ turns: 2 }), {
    connect,
    run: "faults",
    ...(samplers === undefined ? {} : { samplers: JSON.parse(samplers) }),
  }),
  policy: async () => slowPolicy(),
  algorithm: grpo({ groupSize, uniformGroups: "keep" }),
  steps,
  tasksPerStep: groupsPerStep,
  eval: { tasks: 0 },
  save: { every: 1 },
  store: postgres(connect),
});
