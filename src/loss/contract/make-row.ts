import type { LossRow } from "../loss.ts";

/** A row for a golden case: one turn over all tokens, log-probabilities as they were when the update began, the rest as given. */
export function makeRow(fields: Partial<LossRow> & { logprobs_T: Float32Array }): LossRow {
  const T = fields.logprobs_T.length;
  const id = fields.id ?? "row";
  return {
    id,
    group: id,
    rollout: id,
    role: "agent",
    weight: 1,
    reward: 0,
    turns: [{ start: 0, end: T }],
    tokens_T: new Int32Array(T),
    mask_T: new Uint8Array(T).fill(1),
    advantages_T: new Float32Array(T),
    behaviourLogprobs_T: fields.oldLogprobs_T ?? fields.logprobs_T,
    oldLogprobs_T: fields.logprobs_T,
    ...fields,
  };
}
