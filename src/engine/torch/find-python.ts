import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { delimiter, join } from "node:path";
import { fileURLToPath } from "node:url";
import { z } from "zod";
import { LudusError } from "../../errors.ts";

/** What the worker runs on, oldest version that will do. */
const requirements = {
  torch: "2.7",
  transformers: "5.0",
  safetensors: "0.5",
  numpy: "1.26",
  grpcio: "1.60",
  protobuf: "4.25",
};
const loraRequirements = { peft: "0.17" };
const oldestPython = "3.10";

/** The worker's folder in this repository; from `src/` and from `dist/` alike. An installed package has none. */
const workerFolder = fileURLToPath(new URL("../../../worker/", import.meta.url));

// looks packages up without importing them: importing torch takes seconds
const script = `
import importlib.metadata as m, importlib.util as u, json, platform, sys
found = {}
for name in sys.argv[1:]:
    try: found[name] = m.version(name)
    except m.PackageNotFoundError: pass
print(json.dumps({"python": platform.python_version(), "found": found, "worker": u.find_spec("ludus_worker") is not None}))
`;
const Report = z.object({ python: z.string(), found: z.record(z.string(), z.string()), worker: z.boolean() });

export interface FoundPython {
  python: string;
  env: Record<string, string>;
}

/** Looks at the Python that was asked for, else at `LUDUS_PYTHON`, `.venv` and what is on the path; the first that serves. */
export function findPython(chosen: string | undefined, needsLora: boolean): FoundPython {
  const asked = chosen ?? (process.env.LUDUS_PYTHON || undefined);
  const local = [".venv/bin/python", ".venv/Scripts/python.exe"].map((path) => join(process.cwd(), path));
  const candidates = asked === undefined ? [...local.filter(existsSync), "python3", "python"] : [asked];
  const env = workerEnvironment();
  const problems: LudusError[] = [];
  for (const python of candidates) {
    const problem = problemWith(python, env, needsLora);
    if (problem === undefined) return { python, env };
    problems.push(problem);
  }
  // of several that do not serve, the one that runs and lacks something says most
  throw problems.find(({ code }) => code === "python-packages") ?? problems[0];
}

function workerEnvironment(): Record<string, string> {
  if (!existsSync(join(workerFolder, "ludus_worker"))) return {};
  const before = process.env.PYTHONPATH;
  return { PYTHONPATH: before ? `${workerFolder}${delimiter}${before}` : workerFolder };
}

function problemWith(python: string, env: Record<string, string>, needsLora: boolean): LudusError | undefined {
  const needed = { ...requirements, ...(needsLora ? loraRequirements : {}) };
  const run = spawnSync(python, ["-c", script, ...Object.keys(needed)], {
    encoding: "utf8",
    env: { ...process.env, ...env },
  });
  if (run.error !== undefined || run.status !== 0) {
    return new LudusError("python-not-found", {
      got: `"${python}", which does not run${run.stderr ? `: ${run.stderr.trim().split("\n").at(-1)}` : ""}`,
      expected: `Python ${oldestPython} or newer`,
      hint: "Pass torch({ python }), set LUDUS_PYTHON, or make a .venv here.",
    });
  }
  const { python: version, found, worker } = Report.parse(JSON.parse(run.stdout));
  if (isOlder(version, oldestPython))
    return new LudusError("python-too-old", {
      got: `Python ${version} (${python})`,
      expected: `${oldestPython} or newer`,
    });
  const lacking = Object.entries(needed).filter(([name, oldest]) => isOlder(found[name] ?? "0", oldest));
  if (lacking.length === 0 && worker) return undefined;
  const missing = lacking.map(([name]) => (found[name] === undefined ? `no ${name}` : `${name} ${found[name]}`));
  const install = lacking.map(([name, oldest]) => `"${name}>=${oldest}"`).join(" ");
  const commands = [
    ...(lacking.length > 0 ? [`${python} -m pip install ${install}`] : []),
    ...(worker ? [] : [`${python} -m pip install ./worker (in Ludus' repository)`]),
  ];
  return new LudusError("python-packages", {
    got: `${python} with ${[...missing, ...(worker ? [] : ["no ludus_worker"])].join(", ")}`,
    expected: lacking.map(([name, oldest]) => `${name} ${oldest} or newer`).join(", ") || "the worker's package",
    hint: `Run: ${commands.join(" && ")}.`,
  });
}

/** Compares the leading numbers: 2.13.0+cpu is newer than 2.7. */
export function isOlder(version: string, than: string): boolean {
  const numbers = (text: string) => (text.match(/^\d+(\.\d+)*/)?.[0] ?? "0").split(".").map(Number);
  const [a, b] = [numbers(version), numbers(than)];
  for (let i = 0; i < b.length; i++) if ((a[i] ?? 0) !== b[i]) return (a[i] ?? 0) < b[i];
  return false;
}
