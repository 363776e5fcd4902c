import { describe } from "vitest";
import { engineContract } from "../engine.contract.ts";
import { tiny } from "../model/model-config.ts";
import { torch } from "./torch.ts";

const model = tiny({
  vocabularySize: 24,
  width: 32,
  headWidth: 8,
  keyValueHeads: 2,
  layers: 2,
  contextLength: 64,
  initializerRange: 0.15,
});
const options = { model, valueHead: true, seed: 3, device: "cpu", threads: 1, processes: 2, log: () => {} };

// LUDUS_PYTHON=… npm run test:slow -- src/engine/torch: starting torchrun fourteen times takes minutes
describe.runIf(process.env.LUDUS_PYTHON)("several processes", () => {
  engineContract("the PyTorch engine on two processes", {
    make: () => torch(options),
    learns: true,
    rounding: "by-batch",
  });
});
