// One thread of the soak of kernels; started by kernels-process.ts.

import { parentPort, workerData } from "node:worker_threads";
import { play } from "./kernel-roles.ts";

let isStopped = false;
let begin = () => {};
const begun = new Promise<void>((resolve) => {
  begin = resolve;
});
parentPort!.on("message", (message: "begin" | "stop") => {
  if (message === "begin") begin();
  else isStopped = true;
});
await play(workerData, {
  ready: () => {
    parentPort!.postMessage("ready");
    return begun;
  },
  report: (counts) => parentPort!.postMessage(counts),
  isStopped: () => isStopped,
});
process.exit(0);
