export { Checkpoints } from "./checkpoints.ts";
export { bestStep, chooseStep, type WantedStep } from "./choose-step.ts";
export { damagedCheckpoints } from "./damaged-checkpoints.ts";
export { bytesIn, folderHash, weightsHash } from "./weights-hash.ts";
