import { availableParallelism } from "node:os";
import { setTimeout } from "node:timers/promises";
import { LudusError } from "../../src/errors.ts";
import { type BubblewrapSandboxOptions, bubblewrapSandbox } from "../../src/tool/sandbox/bubblewrap-sandbox.ts";
import type { Box, Sandbox } from "../../src/tool/sandbox/sandbox.ts";
import { type AboutRun, aboutLine, aboutRun, busyWarning } from "../about-run.ts";
import type { Benchmark, BenchmarkContext } from "../benchmark.ts";
import { parseJsonOption } from "../json-option.ts";
import { writeRecord } from "../pages.ts";
import { median } from "../statistics.ts";
import { formatNumber, type Table, textTable } from "../table.ts";
import { availableMb, descendants, proportionalMb } from "./memory.ts";
import { plain } from "./plain-bwrap.ts";

const [starts, calls, callers, wantedHeld] = [40, 800, 8, 500];
const [readyBoxes, spacingMs, settleMs] = [8, 250, 5_000];
const nodeInside = "/run/ludus/other-node";

const help = `Boxes of bubblewrap: how long one takes from \`open\` to the answer of its first call, how many calls a second, how many are
held at once and what each takes of memory. Python runs in a warm interpreter that forks; Node in a process that was started ahead of its one call.
The first answer is measured from boxes that were ready, one asked for every ${spacingMs} ms, and from boxes that were not, one after the other; beside
them, \`bwrap\` started by hand for each call, without files, limits or filter. Takes about two minutes. Writes bench/results/boxes.json.

Usage: npm run bench -- boxes [options]

  --json  print the figures as one JSON object instead of the table: those of Python, and those of Node under \`node\`

Example:
  npm run bench -- boxes --json
`;

interface Figures {
  /** From \`open\` to the answer of the first call, one box after the other. */
  cold_start_ms_p50: number;
  calls_per_s: number;
}

interface Ready {
  /** The same with boxes that were started ahead, asked for at an even rate. */
  start_ms_p50: number;
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
  python: Ready & Figures & Held;
  node: Ready & Figures & Held;
  /** Node that is started by the call. */
  nodeNotWarm: Figures & Held;
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
    if (json) console.log(JSON.stringify({ ...shortly(results.python), node: shortly(results.node) }));
    else console.log(`\n${textTable(tableOf(results))}\n\n${aboutLine(results.about, { node: process.version }, 0)}`);
  },
};

function shortly(figures: Ready & Figures & Held) {
  const { start_ms_p50, cold_start_ms_p50, calls_per_s, held, host_rss_mb_per_box } = figures;
  return { start_ms_p50, calls_per_s, held, host_rss_mb_per_box, cold_start_ms_p50 };
}

async function measureAll(args: readonly string[], { root, signal, progress }: BenchmarkContext): Promise<Results> {
  const about = aboutRun("boxes", args, root);
  const warning = busyWarning(about);
  if (warning !== undefined) progress(warning);
  const told = <Value>(name: string, value: Value): Value => {
    signal.throwIfAborted();
    progress(`${name}: ${JSON.stringify(value)}`);
    return value;
  };
  const box = (options: BubblewrapSandboxOptions) => bubblewrapSandbox({ diskMb: 64, ...options });
  const notWarm = box({ readable: { [nodeInside]: process.execPath } });
  const plainPython = () => plain("/usr/bin/python3", ["-c", "print(1 + 1)"]);
  const plainNode = () => plain(process.execPath, ["-e", "console.log(1 + 1)"]);
  const plainBwrap = {
    python: told("plain bwrap, python", await measure(plainPython, plainPython, calls / 4)),
    node: told("plain bwrap, node", await measure(plainNode, plainNode, calls / 10)),
  };
  return {
    about,
    plainBwrap,
    python: {
      ...told("python, ready", await measureReady(box({ warm: "python", ready: readyBoxes }), callPython)),
      ...told("python", await measureBoxes(box({ warm: "python" }), callPython, calls)),
      ...told("python, held", await hold(box({ warm: "python" }), callPython, wantedHeld, signal)),
    },
    node: {
      ...told("node, ready", await measureReady(box({ warm: "node", ready: readyBoxes }), callNode)),
      ...told("node", await measureBoxes(box({ warm: "node" }), callNode, calls / 10)),
      ...told("node, held", await hold(box({ warm: "node" }), callNode, wantedHeld / 10, signal)),
    },
    nodeNotWarm: {
      ...told("node, not warm", await measureBoxes(notWarm, callNodeInside, calls / 10)),
      ...told("node, not warm, held", await hold(notWarm, callNodeInside, wantedHeld, signal)),
    },
    restore_ms_p50: told("restore", await measureRestore(notWarm)),
  };
}

const callPython = (box: Box) => check(box.exec("python3", { args: ["-c", "print(1 + 1)"] }));
const callNode = (box: Box) => check(box.exec("node", { args: ["-e", "console.log(1 + 1)"] }));
const callNodeInside = (box: Box) => check(box.exec(nodeInside, { args: ["-e", "console.log(1 + 1)"] }));

/** One box every so often, as episodes ask for them; whoever is late waits for nobody. */
async function measureReady(sandbox: Sandbox, call: (box: Box) => Promise<void>): Promise<Ready> {
  const times: number[] = [];
  for (let index = -1; index < starts; index++) {
    // the first begins with the boxes that are ready: it is none of them
    const next = setTimeout(index < 0 ? spacingMs * readyBoxes : spacingMs);
    const from = performance.now();
    const box = await sandbox.open();
    await call(box);
    if (index >= 0) times.push(performance.now() - from);
    void box.close();
    await next;
  }
  return { start_ms_p50: median(times) };
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
  return { cold_start_ms_p50: median(times), calls_per_s: (each * callers * 1_000) / (performance.now() - from) };
}

async function hold(
  sandbox: Sandbox,
  call: (box: Box) => Promise<void>,
  wanted: number,
  signal: AbortSignal,
): Promise<Held> {
  const boxes: Box[] = [];
  const [own, free] = [process.memoryUsage.rss(), availableMb()];
  try {
    while (boxes.length < wanted && !signal.aborted) {
      const opened = await Promise.all(Array.from({ length: 10 }, () => sandbox.open()));
      boxes.push(...opened);
      await Promise.all(opened.map(call));
    }
    // all of them still answer
    for (let index = 0; index < boxes.length; index += callers) {
      await Promise.all(boxes.slice(index, index + callers).map(call));
    }
    await setTimeout(settleMs); // what waits for the next call is there again
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

function tableOf({ python, node, nodeNotWarm, plainBwrap, restore_ms_p50: restore }: Results): Table {
  const row = (name: string, figures: Figures & Partial<Ready & Held>) => [
    name,
    ...[
      figures.start_ms_p50,
      figures.cold_start_ms_p50,
      figures.calls_per_s,
      figures.held,
      figures.host_rss_mb_per_box,
    ].map((value) => (value === undefined ? "" : formatNumber(value))),
  ];
  return [
    [`${availableParallelism()} cores`, "ms to the first answer, ready", "not ready", "calls/s", "held", "MB each"],
    row("box, warm Python", python),
    row("plain bwrap, python3", plainBwrap.python),
    row("box, warm Node", node),
    row("box, Node", nodeNotWarm),
    row("plain bwrap, node", plainBwrap.node),
    ["box from an image of 200 files", "", formatNumber(restore), "", "", ""],
  ];
}
