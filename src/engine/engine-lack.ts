/**
 * Parts of the contract that an engine may lack, where the weights are on somebody else's server:
 *
 * - `entropies`: `forward` returns zeros, derivatives of them are refused;
 * - `candidates`, `alternatives`: log-probabilities of other tokens than those of the row;
 * - `temperatures`: log-probabilities at another temperature than 1 (0 samples the most probable token);
 * - `cuts`: top-p and top-k;
 * - `gradient-norm`: `step` does not report it, nor that a gradient was not finite; whether it clips is the server's;
 * - `weight-files`: `save` writes where the weights are, not weights that could be changed and loaded again;
 * - `fresh-optimizer`: `load` without the optimizer's state.
 */
export type EngineLack =
  | "entropies"
  | "candidates"
  | "alternatives"
  | "temperatures"
  | "cuts"
  | "gradient-norm"
  | "weight-files"
  | "fresh-optimizer";
