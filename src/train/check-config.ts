import { LudusError } from "../errors.ts";
import type { TrainConfig } from "./train.ts";

/** What can be wrong with a configuration is said before the first rollout. */
export function checkConfig<Data, State>({ steps, tasksPerStep = 16, algorithm }: TrainConfig<Data, State>): void {
  whole("steps", steps, 0);
  whole("tasksPerStep", tasksPerStep, 1);
  whole("groupSize", algorithm.groupSize, 1);
  whole("epochs", algorithm.epochs, 1);
  whole("miniBatches", algorithm.miniBatches, 1);
  const needsValues = algorithm.credit.needs.values === true || algorithm.loss.needs.values === true;
  if (needsValues && algorithm.critic === undefined) {
    throw new LudusError("no-critic", {
      got: `${algorithm.name}, whose credit or loss needs values, without a critic`,
      expected: "`critic` in the algorithm",
    });
  }
}

function whole(name: string, value: number, least: number): void {
  if (Number.isInteger(value) && value >= least) return;
  throw new LudusError("bad-config", { got: `${name} = ${value}`, expected: `a whole number of at least ${least}` });
}
