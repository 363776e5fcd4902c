import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import type { SweBenchTask } from "../../env/environments/swe-bench-tasks.ts";
import { errorText, LudusError } from "../../errors.ts";

const run = promisify(execFile);

/** No hook, filter or configuration of a user or of the repository's own runs. */
const plain = {
  PATH: process.env.PATH ?? "/usr/bin:/bin",
  GIT_CONFIG_NOSYSTEM: "1",
  GIT_CONFIG_GLOBAL: "/dev/null",
  GIT_CONFIG_COUNT: "3",
  GIT_CONFIG_KEY_0: "uploadpack.allowAnySHA1InWant",
  GIT_CONFIG_VALUE_0: "true",
  GIT_CONFIG_KEY_1: "safe.directory",
  GIT_CONFIG_VALUE_1: "*",
  GIT_CONFIG_KEY_2: "core.hooksPath",
  GIT_CONFIG_VALUE_2: "/dev/null",
};

/** Where a task's repository is: `repositories/<instance>` or `repositories/<owner>__<name>`. */
export function repositoryOf(folder: string, { id, repository }: SweBenchTask): string {
  const names = [id, repository.replace("/", "__")];
  const found = names.map((name) => join(folder, "repositories", name)).find((path) => existsSync(path));
  if (found !== undefined) return found;
  throw new LudusError("bad-benchmark-data", {
    got: `${folder} without repositories/${names.join(" or repositories/")}`,
    expected: `a clone of ${repository} for ${id}`,
    hint: `git clone --bare <address of ${repository}> ${join(folder, "repositories", names[1])}`,
  });
}

/** The commit of a task as an archive of a working tree with `.git`, whose history is that one commit: the fix is not in it. */
export async function commitArchive(repository: string, commit: string, signal: AbortSignal): Promise<Uint8Array> {
  const folder = await mkdtemp(join(tmpdir(), "ludus-swe-"));
  const git = (...args: readonly string[]) => run("git", ["-C", folder, ...args], { env: plain, signal });
  try {
    await git("init", "--quiet");
    await git("fetch", "--quiet", "--depth", "1", "--no-tags", repository, commit);
    await git("checkout", "--quiet", "--detach", "FETCH_HEAD");
    await rm(join(folder, ".git", "FETCH_HEAD"), { force: true });
    const archive = `${folder}.tar`;
    try {
      await run("tar", ["-C", folder, "-cf", archive, "."], { signal });
      return await readFile(archive);
    } finally {
      await rm(archive, { force: true });
    }
  } catch (cause) {
    signal.throwIfAborted();
    throw new LudusError("bad-benchmark-data", {
      got: `${repository} at ${commit}: ${errorText(cause)}`,
      expected: "a Git repository that has the commit",
      cause,
    });
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}
