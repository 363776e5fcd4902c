import { setTimeout } from "node:timers/promises";
import { LudusError } from "../../src/errors.ts";
import { type BubblewrapSandboxOptions, bubblewrapSandbox } from "../../src/tool/sandbox/bubblewrap-sandbox.ts";
import type { Box, Sandbox } from "../../src/tool/sandbox/sandbox.ts";
import { aboutRun, busyWarning } from "../about-run.ts";
import type { Benchmark, BenchmarkContext } from "../benchmark.ts";
import { coresOfOthers, readProcessorTime } from "../child/processor-time.ts";
import { parseJsonOption } from "../json-option.ts";
import { writePages, writeRecord } from "../pages.ts";
import { median } from "../statistics.ts";
import { textTable } from "../table.ts";
import { containerRun } from "./container-run.ts";
import { availableMb, descendants, proportionalMb } from "./memory.ts";
import { plain } from "./plain-bwrap.ts";
import { boxesNotes, boxesPages, boxesTable, missedGoals } from "./report.ts";
import type { BoxesResults, Figures } from "./results.ts";

const [starts, calls, callers, wantedHeld] = [40, 800, 8, 500];
const [readyBoxes, spacingMs, settleMs] = [8, 250, 5_000];
const nodeInside = "/run/ludus/other-node";

const help = `Boxes of bubblewrap: how long one takes from \`open\` to the answer of its first call, how many calls a second, how many are
held at once and what each takes of memory. Python runs in a warm interpreter that forks; Node in one process for all calls of a box, and
beside it in one that was started ahead of its one call. The first answer is measured from boxes that were ready, one asked for every ${spacingMs} ms,
and from boxes that were not, one after the other; beside them, \`bwrap\` started by hand for each call, without files, limits or filter, and
what LUDUS_BOXES_CONTAINER names, such as "podman run --rm --network none image". Takes about three minutes. Writes bench/results/boxes.json
and docs/results/boxes.md.

Usage: npm run bench -- boxes [options]

  --json  print the figures as one JSON object instead of the table: those of Python, and those of Node under \`node\`

Example:
  npm run bench -- boxes --json
`;

export const boxesBenchmark: Benchmark = {
  name: "boxes",
  summary: "starting and holding boxes for a model's code",
  help,
  async run(args, context) {
    const { json } = parseJsonOption("boxes", args);
    const results = await measureAll(args, context);
    writeRecord(context.root, "boxes", results);
    writePages(context.root, boxesPages(context.root));
    if (json) console.log(JSON.stringify({ ...shortly(results.python), node: shortly(results.node) }));
    else
      console.log(
        `\n${textTable(boxesTable(results))}\n\n${[...missedGoals(results), ...boxesNotes(results)].join("\n")}`,
      );
  },
};

function shortly(figures: Figures) {
  const { start_ms_p50, cold_start_ms_p50, calls_per_s, held, host_rss_mb_per_box } = figures;
  return { start_ms_p50, calls_per_s, held, host_rss_mb_per_box, cold_start_ms_p50 };
}

async function measureAll(
  args: readonly string[],
  { root, signal, progress }: BenchmarkContext,
): Promise<BoxesResults> {
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
  const byHand = async (run: typeof plain) => {
    const python = () => run("python3", ["-c", "print(1 + 1)"]);
    const node = () => run(run === plain ? process.execPath : "node", ["-e", "console.log(1 + 1)"]);
    return { python: await measure(python, python, calls / 4), node: await measure(node, node, calls / 10) };
  };
  const [started, before] = [performance.now(), readProcessorTime(process.pid)];
  const containers = await containerRun();
  const { command = "" } = "run" in containers ? containers : {};
  const measured = {
    plainBwrap: told("plain bwrap", await byHand(plain)),
    container: "run" in containers ? told(command, { command, ...(await byHand(containers.run)) }) : containers,
    python: {
      ...told("python, ready", await measureReady(box({ warm: "python", ready: readyBoxes }), callPython)),
      ...told("python", await measureBoxes(box({ warm: "python" }), callPython, calls)),
      ...told("python, held", await hold(box({ warm: "python" }), callPython, wantedHeld, signal)),
    },
    node: {
      ...told("node, ready", await measureReady(box({ warm: "node-session", ready: readyBoxes }), callNode)),
      ...told("node", await measureBoxes(box({ warm: "node-session" }), callNode, calls)),
      ...told("node, held", await hold(box({ warm: "node-session" }), callNode, wantedHeld, signal)),
    },
    nodeSpare: {
      ...told("node, spare, ready", await measureReady(box({ warm: "node", ready: readyBoxes }), callNode)),
      ...told("node, spare", await measureBoxes(box({ warm: "node" }), callNode, calls / 10)),
    },
    nodeNotWarm: told("node, not warm", await measureBoxes(notWarm, callNodeInside, calls / 10)),
    restore_ms_p50: told("restore", await measureRestore(notWarm)),
  };
  const [seconds, after] = [(performance.now() - started) / 1_000, readProcessorTime(process.pid)];
  const others = before && after ? coresOfOthers(before, after, seconds) : 0;
  return { about, versions: { node: process.versions.node }, coresOfOthers: others, ...measured };
}

const callPython = (box: Box) => check(box.exec("python3", { args: ["-c", "print(1 + 1)"] }));
const callNode = (box: Box) => check(box.exec("node", { args: ["-e", "console.log(1 + 1)"] }));
const callNodeInside = (box: Box) => check(box.exec(nodeInside, { args: ["-e", "console.log(1 + 1)"] }));

/** One box every so often, as episodes ask for them; whoever is late waits for nobody. */
async function measureReady(sandbox: Sandbox, call: (box: Box) => Promise<void>): Promise<Figures> {
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
): Promise<Figures> {
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
