import { once } from "node:events";
import { createWriteStream, renameSync, rmSync } from "node:fs";
import { finished } from "node:stream/promises";
import type { Terminal } from "./command.ts";

/** A pipe that is read slowly is waited for. */
export async function toScreen(
  lines: AsyncIterable<string>,
  { stdout }: Terminal,
  signal: AbortSignal,
): Promise<number> {
  let count = 0;
  for await (const line of lines) {
    if (signal.aborted) break;
    count++;
    if (stdout.write(line) === false && isEmitter(stdout)) await once(stdout, "drain", { signal }).catch(() => {});
  }
  return count;
}

function isEmitter(screen: object): screen is NodeJS.EventEmitter {
  return "once" in screen && typeof screen.once === "function";
}

/** The file has its name when all of it is there. */
export async function toFile(lines: AsyncIterable<string>, out: string, signal: AbortSignal): Promise<number> {
  const unfinished = `${out}.partial`;
  const stream = createWriteStream(unfinished);
  const done = finished(stream);
  // whoever waits for it learns of a failure
  done.catch(() => {});
  let isWhole = false;
  try {
    let count = 0;
    for await (const line of lines) {
      if (signal.aborted) break;
      count++;
      if (!stream.write(line)) await Promise.race([once(stream, "drain"), done]);
    }
    stream.end();
    await done;
    isWhole = !signal.aborted;
    if (isWhole) renameSync(unfinished, out);
    return count;
  } finally {
    stream.destroy();
    if (!isWhole) rmSync(unfinished, { force: true });
  }
}
