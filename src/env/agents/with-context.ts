import type { Env } from "../env.ts";

/** The environment with a text at the end of its system message, such as that of `agentsFile()`. */
export function withContext<Data, State>(env: Env<Data, State>, text: string): Env<Data, State> {
  if (text === "") return env;
  return {
    ...env,
    system: (task, role) => [env.system?.(task, role) ?? "", text].filter((part) => part !== "").join("\n\n"),
  };
}
