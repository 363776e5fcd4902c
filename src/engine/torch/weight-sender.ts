/** Names, types and shapes of weights in the order in which they are sent, as vLLM's `update_weights` takes them. */
export interface WeightsInfo {
  readonly names: readonly string[];
  readonly dtype_names: readonly string[];
  readonly shapes: readonly (readonly number[])[];
}

/** Rank 0 of a group of GPUs: it broadcasts the weights of a folder to the others. */
export interface WeightSender {
  /** The group's id, in base64, which all its ranks join with. */
  identify(): Promise<string>;
  /** Resolves when all ranks have joined. */
  join(worldSize: number): Promise<void>;
  describe(directory: string): Promise<WeightsInfo>;
  /** Resolves when all ranks have received everything. */
  send(directory: string): Promise<void>;
  /** Ends it, also in the middle of a transfer. */
  close(): Promise<void>;
}
