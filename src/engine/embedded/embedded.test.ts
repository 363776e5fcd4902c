import { engineContract } from "../engine.contract.ts";
import { tiny } from "../model/model-config.ts";
import { embedded } from "./embedded.ts";

const model = tiny({
  vocabularySize: 24,
  width: 32,
  headWidth: 8,
  keyValueHeads: 2,
  layers: 2,
  contextLength: 64,
  initializerRange: 0.15,
});

engineContract("the embedded engine", { make: () => embedded({ model, valueHead: true, seed: 3 }), learns: true });
engineContract("the embedded engine on one thread", {
  make: () => embedded({ model, valueHead: true, seed: 3, threads: 1 }),
  learns: true,
});
// rows of whole strides: trained in kernels, the one above in sessions
const strides = { ...model, width: 48, headWidth: 16, heads: 2, keyValueHeads: 1, feedForwardWidth: 64 };
engineContract("the embedded engine, training in kernels", {
  make: () => embedded({ model: strides, valueHead: true, seed: 3 }),
  learns: true,
});
