import { execFile } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { LudusError } from "../../errors.ts";

const run = promisify(execFile);

/** A network of its own, in which nothing is: not even loopback is up. Who is not root becomes so inside, and nowhere else. */
export function unshareArguments(isRoot: boolean): readonly string[] {
  return isRoot ? ["--net"] : ["--user", "--map-root-user", "--net"];
}

/** Calls `use` with a program that starts `executable` in a network namespace of its own. The program is gone afterwards. */
export async function withoutNetwork<Value>(
  executable: string,
  use: (program: string) => Promise<Value>,
  unshare = "unshare",
): Promise<Value> {
  const args = unshareArguments(process.getuid?.() === 0);
  try {
    await run(unshare, [...args, "true"]);
  } catch (error) {
    throw new LudusError("no-network-namespace", {
      got: error instanceof Error ? error.message.split("\n")[0] : String(error),
      expected: `${unshare} ${args.join(" ")} to work, for \`network: "none"\``,
      hint: 'Linux with util-linux, and namespaces for users where this is not root; or network: "proxy".',
    });
  }
  const folder = await mkdtemp(join(tmpdir(), "ludus-browser-"));
  const program = join(folder, "browser");
  try {
    const words = [unshare, ...args, "--", executable].map((word) => `'${word.replaceAll("'", "'\\''")}'`);
    await writeFile(program, `#!/bin/sh\nexec ${words.join(" ")} "$@"\n`, { mode: 0o755 });
    return await use(program);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}
