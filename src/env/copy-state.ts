import { LudusError } from "../errors.ts";
import { checkState } from "../tool/state-copy.ts";
import type { Env } from "./env.ts";

/** A second state that lives on its own: what the environment's `copy` makes, or a copy of plain data. */
export async function copyState<State>(
  env: Pick<Env<never, State>, "name" | "copy" | "close">,
  state: State,
  hasBox: boolean,
): Promise<State> {
  if (hasBox) throw notCopyable(`${env.name} with an open box`, "an episode whose tools have not opened one");
  if (env.copy !== undefined) return env.copy(state);
  if (env.close !== undefined) {
    throw notCopyable(`${env.name}, whose state has something to close`, "an environment that says how to copy it");
  }
  // what is no object cannot change
  if (typeof state !== "object" || state === null) return state;
  try {
    return structuredClone(checkState(state));
  } catch (cause) {
    const what = cause instanceof LudusError ? cause.details.got : String(cause);
    throw notCopyable(`${env.name} with ${what}`, "a state of plain data, or an environment that says how to copy it");
  }
}

function notCopyable(got: string, expected: string): LudusError {
  return new LudusError("not-copyable", {
    got,
    expected,
    hint: "Implement `copy(state)` in the environment: it returns a second state that lives on its own; `close` is called for that one too.",
  });
}
