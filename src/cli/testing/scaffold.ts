import { execFile } from "node:child_process";
import { mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { promisify } from "node:util";

const root = resolve(import.meta.dirname, "../../..");
const run = promisify(execFile);

/** Gives a project what `npm install` would: `ludus`, resolved to the sources of this checkout, and its tools. */
export function linkPackages(project: string): void {
  const packages = join(project, "node_modules");
  mkdirSync(join(packages, "ludus"), { recursive: true });
  const exports = { ".": "./src/index.ts", "./testing": "./src/testing/index.ts" };
  writeFileSync(join(packages, "ludus", "package.json"), JSON.stringify({ name: "ludus", type: "module", exports }));
  symlinkSync(join(root, "src"), join(packages, "ludus", "src"), "junction");
  for (const name of ["vitest", "typescript", "@types/node"]) {
    mkdirSync(dirname(join(packages, name)), { recursive: true });
    symlinkSync(join(root, "node_modules", name), join(packages, name), "junction");
  }
}

/** Runs a program of the project's, and returns all it said; throws when it fails. */
export async function runIn(project: string, ...args: readonly string[]): Promise<string> {
  try {
    const { stdout, stderr } = await run(process.execPath, [...args], { cwd: project, env: userEnv() });
    return stdout + stderr;
  } catch (error) {
    const said =
      error instanceof Error && "stdout" in error && "stderr" in error ? `${error.stdout}${error.stderr}` : "";
    throw new Error(`${args.join(" ")} failed:\n${said}`, { cause: error });
  }
}

export const ludus = join(root, "src/cli/main.ts");

/** Without what an outer vitest says to its own. */
function userEnv(): NodeJS.ProcessEnv {
  return Object.fromEntries(Object.entries(process.env).filter(([name]) => !/^(VITEST|NODE_ENV|TEST$)/.test(name)));
}
