export { type EngineContractOptions, engineContract } from "../engine/engine.contract.ts";
export { type FakeEngine, type FakeEngineOptions, fakeEngine } from "../engine/fake-engine.ts";
export type { EnvFinding, EnvFindingCode } from "../env/check/findings.ts";
export { type CheckEnvOptions, checkEnv, type EnvReport } from "../env/check-env.ts";
export { tokenizerContract } from "../policy/tokenizer.contract.ts";
