import { existsSync, mkdirSync, readdirSync, statSync, writeFileSync } from "node:fs";
import { basename, join, resolve } from "node:path";
import { packageVersion } from "../checkpoint/package-version.ts";
import { initFiles } from "./init-files.ts";
import { usageError } from "./parse-options.ts";

export interface WrittenProject {
  readonly written: readonly string[];
  /** Files that were there and stay as they were. */
  readonly kept: readonly string[];
}

/** Writes a new project into a folder, which must be empty unless `isForced`. */
export function writeProject(directory: string, isForced: boolean): WrittenProject {
  const stats = statSync(directory, { throwIfNoEntry: false });
  if (stats !== undefined && !stats.isDirectory()) {
    throw usageError("not-a-folder", { got: `"${directory}", which is a file`, expected: "a folder, or a new name" });
  }
  // a repository that was just made is as good as empty
  const others = stats === undefined ? [] : readdirSync(directory).filter((name) => name !== ".git");
  if (others.length > 0 && !isForced) {
    throw usageError("folder-not-empty", {
      got: `"${directory}" with ${others.slice(0, 5).join(", ")}${others.length > 5 ? ", …" : ""}`,
      expected: "an empty folder, or a new one",
      hint: "ludus init my-agent makes one; --force writes beside what is there.",
    });
  }
  const files = initFiles(projectName(directory), packageVersion());
  const kept = Object.keys(files).filter((file) => existsSync(join(directory, file)));
  const written = Object.keys(files).filter((file) => !kept.includes(file));
  mkdirSync(directory, { recursive: true });
  for (const file of written) writeFileSync(join(directory, file), files[file]);
  return { written, kept };
}

/** What npm accepts: small letters, digits, dashes. */
function projectName(directory: string): string {
  const name = basename(resolve(directory))
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, "-")
    .replace(/^-+|-+$/g, "");
  return name === "" ? "agent" : name;
}
