import { LudusError } from "../../src/errors.ts";

/** Runs something that may refuse its input by a `LudusError`; anything else it throws is a failure. */
export function allowRefusal<Value>(run: () => Value): Value | undefined {
  try {
    return run();
  } catch (error) {
    return refusal(error);
  }
}

export async function allowRefusalAsync<Value>(run: () => Promise<Value>): Promise<Value | undefined> {
  try {
    return await run();
  } catch (error) {
    return refusal(error);
  }
}

function refusal(error: unknown): undefined {
  if (!(error instanceof LudusError)) throw error;
  if (error.message.length > 20_000) throw new Error(`a refusal of ${error.message.length} characters: ${error.code}`);
  return undefined;
}

export function check(holds: boolean, promise: string): asserts holds {
  if (!holds) throw new Error(`broken promise: ${promise}`);
}
