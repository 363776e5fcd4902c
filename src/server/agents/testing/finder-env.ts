import { runRollout } from "../../../rollout/run-rollout.ts";
import { listed } from "../../../task/listed.ts";
import type { AgentAttempt } from "../../agent-attempt.ts";
import { type AgentDefinition, agentEnv } from "../../agent-env.ts";
import { findingModel } from "./finding-model.ts";

/** An environment whose subject is `ask`: it has to find a user with the tool of `findingModel`. */
export function finderEnv(
  ask: (task: string, attempt: AgentAttempt) => Promise<string>,
  more: Partial<AgentDefinition<string>> = {},
) {
  return agentEnv<string>({
    name: "finder",
    description: "Finds users",
    tasks: listed(["Find user-1", "Find user-2", "Find user-3", "Find user-4"]),
    limits: { turns: 3 },
    serve: {},
    run: async (question, attempt) =>
      (await ask(question, attempt)) === question.replace(/.*user-(\d).*/, "user-$1 is found-$1") ? 1 : 0,
    ...more,
  });
}

export const playFinder = (env: ReturnType<typeof finderEnv>, data = "Find user-7", more: object = {}) =>
  runRollout(env, { id: "t", seed: 0, data }, findingModel(), { id: "a", seed: 3, temperature: 0, ...more });
