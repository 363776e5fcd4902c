import type { WorkloadOf } from "../child/protocol.ts";
import { openEngine, type Prepared, time } from "./prepared.ts";

/** What an on-policy update costs but for the optimizer: the sampled log-probabilities stand in for a forward pass. */
export async function prepareTrain(workload: WorkloadOf<"train">, threads: number): Promise<Prepared> {
  const engine = await openEngine(workload.model, threads);
  const rows = workload.tokens_B_T.map((tokens) => ({ tokens: Int32Array.from(tokens) }));
  const derivatives_B_T = workload.derivatives_B_T.map((derivatives) => Float32Array.from(derivatives));
  const sampled_B_T = rows.map(({ tokens }) => new Float32Array(tokens.length));
  return {
    async run() {
      const seconds = await time(async () => {
        const { policyVersion } = engine.info;
        const forward = await engine.forward({ rows }, { sampled: { logprobs_B_T: sampled_B_T, policyVersion } });
        await engine.backward(forward, { logprobs_B_T: derivatives_B_T });
      });
      // not timed: drops the gradient, as the baseline does, and tells its norm
      const { gradientNorm } = await engine.step({ learningRate: 0 });
      return { seconds, tokens: rows.reduce((sum, { tokens }) => sum + tokens.length - 1, 0), check: gradientNorm };
    },
    close: () => engine.close(),
  };
}
