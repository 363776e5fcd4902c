export { Checkpoints } from "./checkpoints.ts";
export { damagedCheckpoints } from "./damaged-checkpoints.ts";
