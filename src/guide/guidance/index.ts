export { guidance } from "./guidance.ts";
export type { GuidanceOptions } from "./guidance-options.ts";
export { type FailedAttempt, type FailedTask, type HintGenerator, hintKinds } from "./hints.ts";
export { type LockHintsOptions, lockHints } from "./lock-hints.ts";
export { type ModelHintsOptions, modelHints } from "./model-hints.ts";
export { type HintWriter, type ScriptedHintsOptions, scriptedHints } from "./scripted-hints.ts";
export { withoutHint } from "./without-hint.ts";
