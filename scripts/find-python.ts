import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { join } from "node:path";

/** What the parity suites and the worker import. */
const packages = ["torch", "transformers", "trl", "peft", "grpc", "tensorboard", "pyarrow"];

export type PythonSearch = { found: true; python: string } | { found: false; chosen: boolean; reason: string };

/**
 * The Python for the parity suites: `LUDUS_PYTHON` where it is set, else `.venv` in the repository. `chosen` tells a
 * Python that was asked for and does not serve from one that was never set up.
 */
export function findPython(root: string, chosen: string | undefined): PythonSearch {
  const python = chosen ?? [".venv/bin/python", ".venv/Scripts/python.exe"].map((p) => join(root, p)).find(existsSync);
  if (python === undefined) return { found: false, chosen: false, reason: "there is no .venv" };

  // find_spec looks a package up without importing it: importing torch takes seconds
  const script = `import importlib.util as u; print(*[p for p in ${JSON.stringify(packages)} if u.find_spec(p) is None])`;
  const { status, stdout, error } = spawnSync(python, ["-c", script], { encoding: "utf8" });
  const isChosen = chosen !== undefined;
  if (error || status !== 0) return { found: false, chosen: isChosen, reason: `${python} does not run` };
  const missing = stdout.trim();
  return missing === ""
    ? { found: true, python }
    : { found: false, chosen: isChosen, reason: `${python} has no ${missing.replaceAll(" ", ", ")}` };
}
