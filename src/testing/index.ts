export { type EngineContractOptions, engineContract } from "../engine/engine.contract.ts";
export { type FakeEngine, type FakeEngineOptions, fakeEngine } from "../engine/fake-engine.ts";
export { tokenizerContract } from "../policy/tokenizer.contract.ts";
