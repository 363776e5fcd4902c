// Records `npm start` on a pseudo-terminal and draws what was seen: docs/quickstart.svg, which the README shows.
//
//     node scripts/record-readme.ts                      takes as long as the quickstart does; keeps what it saw beside it
//     node scripts/record-readme.ts --from seen.jsonl    draws an earlier recording again

import { spawn } from "node:child_process";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { parseArgs } from "node:util";
import { TerminalScreen } from "./terminal/screen.ts";
import { type Frame, terminalSvg } from "./terminal/terminal-svg.ts";

const root = join(import.meta.dirname, "..");
const size = { columns: 108, rows: 34 };
const shown = { frames: 32, secondsEach: 0.4, lastSeconds: 12 };

/** What a program wrote, and how many seconds after its start. */
type Seen = readonly [seconds: number, text: string];

const { values } = parseArgs({
  options: {
    from: { type: "string" },
    keep: { type: "string", default: join(root, ".scratch/quickstart.jsonl") },
    out: { type: "string", default: join(root, "docs/quickstart.svg") },
  },
});
const seen = values.from === undefined ? await record("npm start --silent") : readSeen(values.from);
if (values.from === undefined) {
  mkdirSync(dirname(values.keep), { recursive: true });
  writeFileSync(values.keep, seen.map((each) => `${JSON.stringify(each)}\n`).join(""));
}
writeFileSync(values.out, terminalSvg(framesOf(seen), { title: "npm start, shown faster", ...size }));
console.log(`${values.out}: ${Math.round(seen.at(-1)?.[0] ?? 0)} seconds were recorded`);

/** `script` gives the program a terminal, so that it draws as it would for a person. */
function record(command: string): Promise<Seen[]> {
  const inTerminal = `stty cols ${size.columns} rows ${size.rows}; ${command}`;
  const program = spawn("script", ["-qfec", inTerminal, "/dev/null"], {
    cwd: root,
    stdio: ["ignore", "pipe", "inherit"],
  });
  const start = performance.now();
  const seen: Seen[] = [];
  const decoder = new TextDecoder();
  program.stdout.on("data", (chunk: Uint8Array) => {
    const text = decoder.decode(chunk, { stream: true });
    seen.push([Math.round(performance.now() - start) / 1000, text]);
    process.stderr.write(text);
  });
  return new Promise((resolve, reject) => {
    program.once("error", reject);
    program.once("close", (status) => (status === 0 ? resolve(seen) : reject(new Error(`${command}: ${status}`))));
  });
}

function readSeen(path: string): Seen[] {
  return readFileSync(path, "utf8")
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line) as Seen);
}

/** The screen at even distances in time, and at the end. */
function framesOf(seen: readonly Seen[]): Frame[] {
  const screen = new TerminalScreen();
  screen.write("$ npm start\r\n");
  const end = seen.at(-1)?.[0] ?? 0;
  const frames: Frame[] = [];
  let next = 0;
  for (let i = 1; i <= shown.frames; i++) {
    const time = (end * i) / shown.frames;
    while (next < seen.length && seen[next][0] <= time) screen.write(seen[next++][1]);
    frames.push({ seconds: i === shown.frames ? shown.lastSeconds : shown.secondsEach, lines: screen.lines() });
  }
  return frames;
}
