import { toHuggingFaceConfig } from "../../src/engine/model/model-config.ts";
import { createRng } from "../../src/random.ts";
import type { Workload } from "../child/protocol.ts";
import { randomDerivatives_B_T, randomTokens_B_T } from "../random-rows.ts";
import type { Point } from "./points.ts";

export function trainWorkload({ config, trainRows, length }: Point): Workload {
  const rng = createRng(1);
  return {
    kind: "train",
    model: { config: toHuggingFaceConfig(config) },
    tokens_B_T: randomTokens_B_T(rng, trainRows, length + 1, config.vocabularySize),
    derivatives_B_T: randomDerivatives_B_T(rng, trainRows, length + 1),
  };
}

export function sampleWorkload({ config, sampleRows, length }: Point): Workload {
  return {
    kind: "sample",
    model: { config: toHuggingFaceConfig(config) },
    prompts_B_T: randomTokens_B_T(createRng(1), sampleRows, length / 2, config.vocabularySize),
    newTokens: length / 2,
  };
}
