import { existsSync, mkdirSync } from "node:fs";
import { dirname } from "node:path";

/** A folder and those above it. Node's own `recursive` never ends where a folder cannot be made and says ENOENT, as under /proc. */
export function makeFolder(path: string): void {
  if (existsSync(path)) return;
  makeFolder(dirname(path));
  try {
    mkdirSync(path);
  } catch (error) {
    // another process may have made it since
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
  }
}
