/**
 * Who gets credit: from rewards of rollouts and turns to an advantage for every token. Pure functions on arrays.
 *
 * Axes: `B` rows (trajectories), `T` tokens of a row, `G` rollouts of one group, `K` turns of one rollout.
 *
 * Worked example: two attempts at one task, rewards 1 and 0, two sampled tokens each; credit by the group's mean:
 *
 *     groupRelative({ scale: "none" }).assign([
 *       { ...row, group: "a", rollout: "a/0", reward: 1, mask_T: Uint8Array.of(0, 1, 1) },
 *       { ...row, group: "a", rollout: "a/1", reward: 0, mask_T: Uint8Array.of(0, 1, 1) },
 *     ]).advantages_B_T;                                   // [[0, 0.5, 0.5], [0, -0.5, -0.5]]
 */
export interface Credit {
  readonly name: string;
  readonly needs: CreditNeeds;
  /** Rows of a whole batch; infrastructure failures are not among them. Advantages are 0 outside the mask. */
  assign(rows: readonly CreditRow[]): CreditResult;
}

export interface CreditNeeds {
  /** `values_T` of every row. */
  readonly values?: boolean;
  /** `baseline` of every row: the reward of a greedy rollout of the same task. */
  readonly greedyBaseline?: boolean;
  /** `ratios_T` of every row: current over behaviour probability. */
  readonly ratios?: boolean;
  /** `stateKey` of turns. */
  readonly stateKeys?: boolean;
  /** `weights_T` of every row. */
  readonly weights?: boolean;
}

export interface CreditRow {
  /** Rows of the same task (and role) share it. */
  readonly group: string;
  /** Rows of the same rollout share it and follow each other in time: the rollout counts once in every statistic. */
  readonly rollout: string;
  readonly role: string;
  readonly domain?: string;
  /** Total of the rollout: turn rewards and final score. */
  readonly reward: number;
  /** 1 where the policy sampled. */
  readonly mask_T: Uint8Array;
  /** In order, each in one row of the rollout only; every sampled token is in one. */
  readonly turns: readonly CreditTurn[];
  /** Value of the state before each token, 0 outside the mask. */
  readonly values_T?: Float32Array;
  readonly ratios_T?: Float32Array;
  /** How much each token counts, by the algorithm's `weigh`: such as what a critic says after it (CodeRL). */
  readonly weights_T?: Float32Array;
  readonly baseline?: number;
  /**
   * Taken off the rewards of sampled tokens, such as a penalty for leaving a reference policy. Schemes that compare whole rollouts
   * take their sum off the total.
   */
  readonly penalties_T?: Float32Array;
  /** Share of its rollout. */
  readonly weight: number;
  /** True of the rollout's last row: what was not given per turn is given there. */
  readonly isLast: boolean;
}

/** Tokens `start` to `end - 1`. */
export interface CreditTurn {
  readonly start: number;
  readonly end: number;
  readonly reward: number;
  readonly stateKey?: string;
}

export interface CreditResult {
  readonly advantages_B_T: readonly Float32Array[];
  /** What values should have been; of schemes that use values. */
  readonly returns_B_T?: readonly Float32Array[];
  /** `credit/group-std`, `credit/uniform-groups` and `credit/absolute-advantage`, with more of some schemes. */
  readonly metrics: Readonly<Record<string, number>>;
}
