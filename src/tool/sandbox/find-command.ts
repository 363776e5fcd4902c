import { constants } from "node:fs";
import { access } from "node:fs/promises";
import { delimiter, isAbsolute, join, resolve } from "node:path";

/** The file that a command names, as a shell would look it up, or undefined. */
export async function findCommand(command: string, path: string, cwd: string): Promise<string | undefined> {
  const hasFolder = command.includes("/") || isAbsolute(command);
  const folders = path.split(delimiter).filter((folder) => folder !== "");
  const candidates = hasFolder ? [resolve(cwd, command)] : folders.map((folder) => join(folder, command));
  for (const candidate of candidates) if (await isExecutable(candidate)) return candidate;
  return undefined;
}

async function isExecutable(file: string): Promise<boolean> {
  try {
    await access(file, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
