import { LudusError } from "../../errors.ts";

/**
 * What R2E-Gym adds to each observation: the steps that are left, and a last call when fewer than `tokens` are. For `remind` of an
 * environment.
 */
export function codeReminder(tokens: number): (left: { turns: number; tokens: number }) => string {
  if (!(tokens >= 0)) throw new LudusError("bad-option", { got: `tokens ${tokens}`, expected: "a number, 0 or more" });
  return (left) => {
    const steps = `Steps Remaining: ${left.turns}`;
    return left.tokens < tokens ? `${steps}\nYou are running out of tokens. Please submit your answer NOW.` : steps;
  };
}
