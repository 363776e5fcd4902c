import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { join } from "node:path";

/**
 * The commit that is checked out in `root`, with "+changes" where the working tree differs from it in `paths`, which are those of `git status`.
 * Undefined where `root` is not the top of a checkout, such as an installed package inside somebody's repository, and where there is no git.
 */
export function gitCommit(root: string, paths: readonly string[]): string | undefined {
  const git = (...args: string[]) => spawnSync("git", args, { cwd: root, encoding: "utf8" });
  if (!existsSync(join(root, ".git"))) return undefined;
  const head = git("rev-parse", "--short", "HEAD");
  if (head.status !== 0) return undefined;
  const changes = git("status", "--porcelain", "--", ...paths);
  return `${head.stdout.trim()}${changes.stdout?.trim() === "" ? "" : "+changes"}`;
}
