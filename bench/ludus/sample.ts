import type { WorkloadOf } from "../child/protocol.ts";
import { openEngine, type Prepared, time } from "./prepared.ts";

export async function prepareSample(workload: WorkloadOf<"sample">, threads: number): Promise<Prepared> {
  const engine = await openEngine(workload.model, threads);
  const { prompts_B_T, newTokens } = workload;
  let runs = 0;
  return {
    async run() {
      let tokens = 0;
      runs++;
      // other prompts every time, so that nothing kept from the last run can help
      const shift = (token: number) => (token + runs) % engine.info.vocabularySize;
      const requests = prompts_B_T.map((prompt, b) => ({
        tokens: prompt.map(shift),
        maxTokens: newTokens,
        seed: runs * prompts_B_T.length + b,
      }));
      const seconds = await time(async () => {
        const samples = await Promise.all(requests.map((request) => engine.sample(request)));
        tokens = samples.reduce((sum, sample) => sum + sample.tokens.length, 0);
      });
      return { seconds, tokens };
    },
    close: () => engine.close(),
  };
}
