/** Where in training an attempt is made, for rewards that change over it. Absent outside of training: evaluations, demonstrations. */
export interface TrainingProgress {
  /** Steps of learning before this one, the warm start's left out. The same when a run is resumed. */
  readonly step: number;
  /** Share of the learning that is done, from 0 to less than 1. */
  readonly progress: number;
}
