// Preloaded into a program that is measured: writes the processor seconds it used, all its threads together, when it ends.
import { writeFileSync } from "node:fs";
import { isMainThread } from "node:worker_threads";

const file = process.env.LUDUS_TIME_FILE;
if (isMainThread && file !== undefined) {
  process.on("exit", () => {
    const { user, system } = process.cpuUsage();
    writeFileSync(file, `${(user + system) / 1e6}`);
  });
}
