import { LudusError } from "../../errors.ts";
import { redact } from "../../redact.ts";

/** Failures are kept with the run. What an agent was given, and may repeat when it fails, is replaced there by its name. */
export async function withoutSecrets<Value>(
  secrets: Readonly<Record<string, string>>,
  work: () => Promise<Value>,
): Promise<Value> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof LudusError)) throw error;
    const { got, expected, hint } = error.details;
    // without a cause: its text may hold what is taken out here
    throw new LudusError(error.code, { got: redact(got, secrets), expected, ...(hint === undefined ? {} : { hint }) });
  }
}
