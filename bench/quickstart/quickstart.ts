import { spawn, spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, symlinkSync } from "node:fs";
import { availableParallelism, tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { LudusError } from "../../src/errors.ts";
import { aboutRun, busyWarning } from "../about-run.ts";
import type { Benchmark, BenchmarkContext } from "../benchmark.ts";
import { coresOfOthers, readProcessorTime } from "../child/processor-time.ts";
import { textTable } from "../table.ts";
import { readResults, seedsTable, summary, writeResults } from "./report.ts";
import type { QuickstartRun } from "./results.ts";

/** The last commit before the quickstart had its present settings. */
const baseline = "df24502";

const help = `The quickstart beside that of an earlier commit, alternating: held-out success before and after reinforcement learning,
seconds and processor seconds. A run takes one to three minutes on two cores. Each that ends replaces its record in
bench/results/quickstart.json and docs/results/quickstart.md.

Usage: npm run bench -- quickstart [options]

  --seeds <list>   3-12 by default; the settings were chosen with seed 0
  --only <name>    now or earlier
  --earlier <c>    the earlier commit, ${baseline} by default
  --json           print the means as one JSON object instead of the table

Example:
  npm run bench -- quickstart --seeds 10,11
`;

export const quickstartBenchmark: Benchmark = {
  name: "quickstart",
  summary: "the quickstart beside that of an earlier commit, over seeds",
  help,
  async run(args, context) {
    const { seeds, programs, earlier, json } = parseOptions(args);
    const about = aboutRun("quickstart", args, context.root);
    const warning = busyWarning(about);
    if (warning !== undefined) context.progress(warning);
    const folder = programs.includes("earlier") ? checkOut(earlier, context.root) : undefined;
    try {
      for (const [i, seed] of seeds.entries()) {
        // whoever comes first changes with every seed
        for (const program of i % 2 === 0 ? programs : programs.toReversed()) {
          const at = program === "now" ? context.root : folder!;
          const commit = program === "now" ? about.commit : earlier;
          const run = { program, commit, seed, date: about.date, ...(await measure(at, seed, context)) };
          writeResults(context.root, run);
          context.progress(`${program}, seed ${seed}: ${run.before} -> ${run.after} in ${run.seconds} s`);
        }
      }
    } finally {
      if (folder !== undefined) rmSync(folder, { recursive: true, force: true });
    }
    const { runs } = readResults(context.root);
    console.log(json ? JSON.stringify(summary(runs)) : `\n${textTable(seedsTable(runs))}`);
  },
};

function parseOptions(args: readonly string[]) {
  const parsed = () =>
    parseArgs({
      args: [...args],
      options: {
        seeds: { type: "string", default: "3-12" },
        only: { type: "string" },
        earlier: { type: "string", default: baseline },
        json: { type: "boolean", default: false },
      },
    }).values;
  const refuse = (got: string, expected: string) =>
    new LudusError("bad-option", { got, expected, hint: "See npm run bench -- quickstart --help." });
  let values: ReturnType<typeof parsed>;
  try {
    values = parsed();
  } catch {
    throw refuse(args.join(" "), "--seeds, --only, --earlier or --json");
  }
  const { only, earlier, json } = values;
  if (only !== undefined && only !== "now" && only !== "earlier") throw refuse(`--only ${only}`, "now or earlier");
  const programs: QuickstartRun["program"][] = only === undefined ? ["earlier", "now"] : [only];
  const seeds = values.seeds.split(",").flatMap((part) => {
    const [first, last = first] = part.split("-").map(Number);
    if (!Number.isInteger(first) || !Number.isInteger(last) || first < 0 || last < first || last - first > 1000) {
      throw refuse(`--seeds ${values.seeds}`, "seeds such as 3-12 or 5,7");
    }
    return Array.from({ length: last - first + 1 }, (_, i) => first + i);
  });
  return { seeds, programs, earlier, json };
}

/** The files of a commit in a folder of their own, with the packages of this checkout. */
function checkOut(commit: string, root: string): string {
  const folder = mkdtempSync(join(tmpdir(), "ludus-quickstart-"));
  const archive = spawnSync("git", ["archive", commit], { cwd: root, maxBuffer: 2 ** 30 });
  const unpacked = archive.status === 0 ? spawnSync("tar", ["-x", "-C", folder], { input: archive.stdout }) : archive;
  if (unpacked.status !== 0) {
    rmSync(folder, { recursive: true, force: true });
    throw new LudusError("no-commit", {
      got: `commit ${commit}: ${unpacked.stderr?.toString().trim() || unpacked.error?.message}`,
      expected: "a commit of this repository's history",
      hint: "A shallow clone lacks it: git fetch --unshallow. --only now measures without it.",
    });
  }
  symlinkSync(join(root, "node_modules"), join(folder, "node_modules"));
  return folder;
}

type Measured = Omit<QuickstartRun, "program" | "commit" | "seed" | "date">;

/** A run of the program as a user starts it. */
async function measure(folder: string, seed: number, { root, signal }: BenchmarkContext): Promise<Measured> {
  const scratch = mkdtempSync(join(tmpdir(), "ludus-quickstart-"));
  const timeFile = join(scratch, "processor-seconds");
  const args = ["--import", join(root, "bench/quickstart/write-processor-time.ts")];
  const child = spawn(
    process.execPath,
    [...args, join(folder, "examples/quickstart/main.ts"), "--json", "--seed", `${seed}`],
    { cwd: folder, signal, stdio: ["ignore", "pipe", "inherit"], env: { ...process.env, LUDUS_TIME_FILE: timeFile } },
  );
  try {
    const [started, before] = [performance.now(), readProcessorTime(process.pid)];
    let output = "";
    child.stdout.on("data", (part) => {
      output += part;
    });
    const status = await new Promise<number | null>((resolve, reject) =>
      child.on("close", resolve).on("error", reject),
    );
    const [seconds, after] = [(performance.now() - started) / 1000, readProcessorTime(process.pid)];
    if (status !== 0) {
      throw new LudusError("quickstart-failed", { got: `exit status ${status} with seed ${seed}`, expected: "0" });
    }
    const told = JSON.parse(output.trimEnd().split("\n").at(-1)!);
    const processorSeconds = Number(readFileSync(timeFile, "utf8"));
    const all = before && after ? coresOfOthers(before, after, seconds) : 0;
    const others = Math.max(0, all - processorSeconds / seconds);
    const round = (value: number) => Math.round(value * 100) / 100;
    return {
      threads: availableParallelism(),
      before: told.before,
      after: told.after,
      seconds: round(seconds),
      processorSeconds: round(processorSeconds),
      coresOfOthers: round(others),
    };
  } finally {
    rmSync(scratch, { recursive: true, force: true });
  }
}
