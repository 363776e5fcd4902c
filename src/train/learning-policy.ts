import type { Engine } from "../engine/engine.ts";
import type { Policy } from "../rollout/rollout.ts";
import type { World } from "../rollout/world.ts";

/** A policy that can learn: the engine is whole. */
export type LearningPolicy = Policy & { readonly engine: Engine };

/** Makes a policy for an environment: a new one, or one from a folder. */
export type MakePolicy = <Data>(env: World<Data>, seed: number) => Promise<LearningPolicy>;
