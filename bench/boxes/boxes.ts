import { execFile } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { availableParallelism } from "node:os";
import { promisify } from "node:util";
import { LudusError } from "../../src/errors.ts";
import { bubblewrapSandbox } from "../../src/tool/sandbox/bubblewrap-sandbox.ts";
import type { Box, Sandbox } from "../../src/tool/sandbox/sandbox.ts";
import { type AboutRun, aboutLine, aboutRun, busyWarning } from "../about-run.ts";
import type { Benchmark, BenchmarkContext } from "../benchmark.ts";
import { parseJsonOption } from "../json-option.ts";
import { writeRecord } from "../pages.ts";
import { median } from "../statistics.ts";
import { formatNumber, type Table, textTable } from "../table.ts";

const help = `Boxes of bubblewrap: how long one takes from \`open\` to the answer of its first call, how many calls a second, how many are
held at once and what each takes of memory. Python runs in a warm interpreter that forks, Node is started for each call; beside both,
\`bwrap\` started by hand for each call, without files, limits or filter. Takes about a minute. Writes bench/results/boxes.json.

Usage: npm run bench -- boxes [options]

  --json  print the figures of Python as one JSON object instead of the table

Example:
  npm run bench -- boxes --json
`;

const [starts, calls, callers, wantedHeld] = [40, 800, 8, 500];
const nodeInside = "/run/ludus/node";

interface Figures {
  /** From \`open\` to the answer of the first call. */
  start_ms_p50: number;
  calls_per_s: number;
}

interface Held {
  held: number;
  /** Memory of its processes, shared pages divided among those who share them, and what this program grew by. */
  host_rss_mb_per_box: number;
  /** What the system had less, its own share of each box included. */
  system_mb_per_box: number;
}

interface Results {
  about: AboutRun;
  python: Figures & Held;
  node: Figures;
  plainBwrap: { python: Figures; node: Figures };
  /** From \`open({ image })\` to a command that has read one of 200 files. */
  restore_ms_p50: number;
}

export const boxesBenchmark: Benchmark = {
  name: "boxes",
  summary: "starting and holding boxes for a model's code",
  help,
  async run(args, context) {
    const { json } = parseJsonOption("boxes", args);
    const results = await measureAll(args, context);
    writeRecord(context.root, "boxes", results);
    const { start_ms_p50, calls_per_s, held, host_rss_mb_per_box } = results.python;
    if (json) console.log(JSON.stringify({ start_ms_p50, calls_per_s, held, host_rss_mb_per_box }));
    else console.log(`\n${textTable(tableOf(results))}\n\n${aboutLine(results.about, { node: process.version }, 0)}`);
  },
};

async function measureAll(args: readonly string[], { root, signal, progress }: BenchmarkContext): Promise<Results> {
  const about = aboutRun("boxes", args, root);
  const warning = busyWarning(about);
  if (warning !== undefined) progress(warning);
  const warm = bubblewrapSandbox({ warm: "python", diskMb: 64 });
  const cold = bubblewrapSandbox({ diskMb: 64, readable: { [nodeInside]: process.execPath } });
  const callPython = (box: Box) => check(box.exec("python3", { args: ["-c", "print(1 + 1)"] }));
  const callNode = (box: Box) => check(box.exec(nodeInside, { args: ["-e", "console.log(1 + 1)"] }));
  const told = <Value>(name: string, value: Value): Value => {
    signal.throwIfAborted();
    progress(`${name}: ${JSON.stringify(value)}`);
    return value;
  };
  const plainPython = () => plain("/usr/bin/python3", ["-c", "print(1 + 1)"]);
  const plainNode = () => plain(process.execPath, ["-e", "console.log(1 + 1)"]);
  const plainBwrap = {
    python: told("plain bwrap, python", await measure(plainPython, plainPython)),
    node: told("plain bwrap, node", await measure(plainNode, plainNode, calls / 10)),
  };
  return {
    about,
    plainBwrap,
    python: {
      ...told("python", await measureBoxes(warm, callPython, calls)),
      ...told("held", await hold(warm, callPython, signal)),
    },
    node: told("node", await measureBoxes(cold, callNode, calls / 10)),
    restore_ms_p50: told("restore", await measureRestore(cold)),
  };
}

async function measureBoxes(sandbox: Sandbox, call: (box: Box) => Promise<void>, total: number): Promise<Figures> {
  const start = async () => {
    const box = await sandbox.open();
    try {
      await call(box);
    } finally {
      void box.close();
    }
  };
  const boxes = await Promise.all(Array.from({ length: callers }, () => sandbox.open()));
  try {
    await Promise.all(boxes.map(call));
    let next = 0;
    return await measure(start, () => call(boxes[next++ % callers]!), total);
  } finally {
    await Promise.all(boxes.map((box) => box.close()));
  }
}

async function measure(start: () => Promise<void>, call: () => Promise<void>, total: number = calls): Promise<Figures> {
  const times: number[] = [];
  for (let index = 0; index < starts; index++) {
    const from = performance.now();
    await start();
    times.push(performance.now() - from);
  }
  const from = performance.now();
  const each = Math.ceil(total / callers);
  await Promise.all(
    Array.from({ length: callers }, async () => {
      for (let index = 0; index < each; index++) await call();
    }),
  );
  return { start_ms_p50: median(times), calls_per_s: (each * callers * 1_000) / (performance.now() - from) };
}

async function hold(sandbox: Sandbox, call: (box: Box) => Promise<void>, signal: AbortSignal): Promise<Held> {
  const boxes: Box[] = [];
  const [own, free] = [process.memoryUsage.rss(), availableMb()];
  try {
    while (boxes.length < wantedHeld && !signal.aborted) {
      const opened = await Promise.all(Array.from({ length: 20 }, () => sandbox.open()));
      boxes.push(...opened);
      await Promise.all(opened.map(call));
    }
    await Promise.all(boxes.map(call)); // all of them still answer
    const processes = descendants(process.pid).reduce((sum, pid) => sum + proportionalMb(pid), 0);
    const grown = Math.max(0, process.memoryUsage.rss() - own) / 2 ** 20;
    return {
      held: boxes.length,
      host_rss_mb_per_box: (processes + grown) / boxes.length,
      system_mb_per_box: (free - availableMb()) / boxes.length,
    };
  } finally {
    await Promise.all(boxes.map((box) => box.close()));
  }
}

async function measureRestore(sandbox: Sandbox): Promise<number> {
  const files = Object.fromEntries(
    Array.from({ length: 200 }, (_, index) => [`src/${index}.py`, `value = ${index}\n`]),
  );
  const box = await sandbox.open({ files });
  const image = await box.snapshot();
  await box.close();
  try {
    const times: number[] = [];
    for (let index = 0; index < starts; index++) {
      const from = performance.now();
      const restored = await sandbox.open({ image });
      await check(restored.exec("cat", { args: ["src/2.py"] }), "value = 2\n");
      times.push(performance.now() - from);
      await restored.close();
    }
    return median(times);
  } finally {
    await image.remove();
  }
}

async function check(running: ReturnType<Box["exec"]>, expected = "2\n"): Promise<void> {
  const ended = await running;
  if (ended.kind === "exited" && ended.stdout === expected) return;
  throw new LudusError("wrong-answer", { got: JSON.stringify(ended), expected: JSON.stringify(expected) });
}

const flags = [
  "--unshare-all",
  "--die-with-parent",
  "--new-session",
  "--cap-drop",
  "ALL",
  "--clearenv",
  "--proc",
  "/proc",
  "--dev",
  "/dev",
];

/** What one would type: no files, no limits, no filter. */
async function plain(command: string, args: readonly string[]): Promise<void> {
  const system = ["--ro-bind", "/", "/"];
  const { stdout } = await promisify(execFile)("bwrap", [
    ...flags.slice(0, 6),
    ...system,
    ...flags.slice(6),
    command,
    ...args,
  ]);
  if (stdout !== "2\n") throw new LudusError("wrong-answer", { got: stdout, expected: "2" });
}

function descendants(root: number): number[] {
  const parents = new Map<number, number>();
  for (const name of readdirSync("/proc")) {
    if (!/^\d+$/.test(name)) continue;
    const [, parent] = /\) \S (\d+)/.exec(read(`/proc/${name}/stat`)) ?? [];
    parents.set(Number(name), Number(parent ?? 0));
  }
  const isBelow = (pid: number): boolean => {
    const parent = parents.get(pid);
    return parent !== undefined && (parent === root || isBelow(parent));
  };
  return [...parents.keys()].filter(isBelow);
}

const proportionalMb = (pid: number) =>
  Number(/^Pss:\s+(\d+)/m.exec(read(`/proc/${pid}/smaps_rollup`))?.[1] ?? 0) / 1_024;
const availableMb = () => Number(/^MemAvailable:\s+(\d+)/m.exec(read("/proc/meminfo"))?.[1] ?? 0) / 1_024;

function read(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return ""; // it is gone
  }
}

function tableOf({ python, node, plainBwrap, restore_ms_p50: restore }: Results): Table {
  const row = (name: string, { start_ms_p50: start, calls_per_s: rate }: Figures) => [
    name,
    formatNumber(start),
    formatNumber(rate),
  ];
  return [
    [`${availableParallelism()} cores`, "ms to the first answer", "calls/s"],
    row("box, warm Python", python),
    row("plain bwrap, python3", plainBwrap.python),
    row("box, Node", node),
    row("plain bwrap, node", plainBwrap.node),
    ["box from an image of 200 files", formatNumber(restore), ""],
    [`${python.held} boxes held, ${formatNumber(python.host_rss_mb_per_box)} MB each`, "", ""],
  ];
}
