export { Checkpoints } from "./checkpoints.ts";
