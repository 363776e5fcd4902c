import { closeSync, existsSync, fsyncSync, openSync, readdirSync, renameSync, rmSync } from "node:fs";
import { dirname, join } from "node:path";

/**
 * Puts a complete folder in place of whatever has the name. Readers find the old folder or the new one, never a part of
 * either; a crash between the two renames leaves both beside the name, the old one as `<filled>.old`.
 */
export function replaceFolder(filled: string, target: string): void {
  const old = `${filled}.old`;
  rmSync(old, { recursive: true, force: true });
  syncFolders(filled);
  try {
    if (existsSync(target)) renameSync(target, old);
    renameSync(filled, target);
  } catch (error) {
    if (!existsSync(target) && existsSync(old)) renameSync(old, target);
    throw error;
  }
  syncDirectory(dirname(target));
  rmSync(old, { recursive: true, force: true });
}

/** A folder and those in it. */
function syncFolders(directory: string): void {
  for (const entry of readdirSync(directory, { withFileTypes: true }))
    if (entry.isDirectory()) syncFolders(join(directory, entry.name));
  syncDirectory(directory);
}

/** Without it a power failure may undo a rename. Windows has no such call for folders. */
export function syncDirectory(directory: string): void {
  if (process.platform === "win32") return;
  const handle = openSync(directory, "r");
  try {
    fsyncSync(handle);
  } finally {
    closeSync(handle);
  }
}
