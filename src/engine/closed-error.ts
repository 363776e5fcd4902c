import { LudusError } from "../errors.ts";

/** The error of a call that an engine refuses because it was closed, or that it was in when it was closed. */
export function closedError(call: string): LudusError {
  return new LudusError("engine-closed", {
    got: `${call}() of an engine that was closed`,
    expected: "an open engine",
    hint: "close() ends what is under way; wait for it first where its result is wanted.",
  });
}
