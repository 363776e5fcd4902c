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

const quiet = { device: "cpu", threads: 1, log: () => {} };

describe.runIf(process.env.LUDUS_PYTHON)("PyTorch", () => {
  engineContract("the PyTorch engine", {
    make: () => torch({ model, valueHead: true, seed: 3, ...quiet }),
    learns: true,
    rounding: "by-batch",
  });
});
