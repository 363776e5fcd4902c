import "../check-node.ts";

export { creditContract } from "../credit/credit.contract.ts";
export { type EngineContractOptions, engineContract } from "../engine/engine.contract.ts";
export { type FakeEngine, type FakeEngineOptions, fakeEngine } from "../engine/fake-engine.ts";
export type { EnvFinding, EnvFindingCode } from "../env/check/findings.ts";
export { type CheckEnvOptions, checkEnv, type EnvReport } from "../env/check-env.ts";
export { type GuideContractOptions, guideContract } from "../guide/guide.contract.ts";
export { lossContract } from "../loss/loss.contract.ts";
export { monitorContract } from "../monitor/monitor.contract.ts";
export { callFormatContract } from "../policy/call-format.contract.ts";
export { rendererContract } from "../policy/renderer.contract.ts";
export { tokenizerContract } from "../policy/tokenizer.contract.ts";
export { rewardContract } from "../reward/reward.contract.ts";
export { type WorldCase, worldContract } from "../rollout/world.contract.ts";
export { storeContract } from "../store/store.contract.ts";
export { type SandboxContractOptions, sandboxContract } from "../tool/sandbox/sandbox.contract.ts";
export { toolContract } from "../tool/tool.contract.ts";
