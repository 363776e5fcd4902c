/** What a verifier found; `reason` says what is wrong, for people. */
export type VerifierVerdict = { readonly isRight: true } | { readonly isRight: false; readonly reason: string };

export const right: VerifierVerdict = { isRight: true };

export function wrong(reason: string): VerifierVerdict {
  return { isRight: false, reason };
}
