import type { Engine } from "../engine/engine.ts";
import type { Env } from "../env/env.ts";
import type { Policy } from "../rollout/rollout.ts";

/** A policy that can learn: the engine is whole. */
export type LearningPolicy = Policy & { readonly engine: Engine };

/** Makes a policy for an environment: a new one, or one from a folder. */
export type MakePolicy = <Data, State>(env: Env<Data, State>, seed: number) => Promise<LearningPolicy>;
