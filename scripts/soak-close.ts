// Closes embedded engines in the middle of samples, passes, steps, saves and loads, in child processes, and counts the processes that
// crash or hang.
//
//     npx node scripts/soak-close.ts --processes 20 --rounds 10 --json

import { fork } from "node:child_process";
import { parseArgs } from "node:util";

const help = `Usage: node scripts/soak-close.ts [options]

  --processes <n>   child processes, for each kind of engine (10)
  --rounds <n>      pairs of engines that a process makes and closes (10)
  --kinds <names>   sessions, kernels, team, or several with commas between them (all)
  --end <how>       close: engines are closed; exit: the process exits while its engine computes (close)
  --hang <n>        seconds without a round after which a process counts as hanging (150)
  --json            one JSON object as the last line
  --help            show this text

Exits with 1 if a process crashed or hung.`;

interface Outcome {
  engines: number;
  processes: number;
  crashes: number;
  hangs: number;
  /** How processes ended that crashed. */
  signals: Record<string, number>;
  /** With which code calls were rejected. */
  ends: Record<string, number>;
}

function whole(name: string, text: string): number {
  const value = Number(text);
  if (Number.isInteger(value) && value > 0 && value <= 1e6) return value;
  throw new Error(`--${name}: got "${text}", expected a whole number from 1 to 1000000`);
}

function count(into: Record<string, number>, from: Readonly<Record<string, number>>): void {
  for (const [name, times] of Object.entries(from)) into[name] = (into[name] ?? 0) + times;
}

function runOnce(args: readonly string[], hangMs: number, outcome: Outcome): Promise<void> {
  return new Promise((resolve) => {
    const child = fork(new URL("./soak/close-process.ts", import.meta.url), args, {
      stdio: ["ignore", "ignore", "pipe", "ipc"],
    });
    let last: { rounds: number; ends: Record<string, number> } = { rounds: 0, ends: {} };
    let isHanging = false;
    let text = "";
    const hang = () => {
      isHanging = true;
      child.kill("SIGKILL");
    };
    let timer = setTimeout(hang, hangMs);
    child.stderr!.on("data", (chunk) => {
      text = `${text}${chunk}`.slice(-2000);
    });
    child.on("message", (message) => {
      last = message as typeof last;
      clearTimeout(timer);
      timer = setTimeout(hang, hangMs);
    });
    child.once("close", (code, signal) => {
      clearTimeout(timer);
      outcome.processes++;
      outcome.engines += last.rounds;
      count(outcome.ends, last.ends);
      if (isHanging) outcome.hangs++;
      else if (code !== 0) {
        outcome.crashes++;
        count(outcome.signals, { [signal ?? `code ${code}`]: 1 });
        if (text !== "") process.stderr.write(`${text}\n`);
      }
      resolve();
    });
  });
}

const { values } = parseArgs({
  options: {
    processes: { type: "string", default: "10" },
    rounds: { type: "string", default: "10" },
    kinds: { type: "string", default: "sessions,kernels,team" },
    end: { type: "string", default: "close" },
    hang: { type: "string", default: "150" },
    json: { type: "boolean", default: false },
    help: { type: "boolean", default: false },
  },
});
if (values.help) console.log(help);
else {
  const outcomes: Record<string, Outcome> = {};
  for (const kind of values.kinds.split(",")) {
    const outcome: Outcome = { engines: 0, processes: 0, crashes: 0, hangs: 0, signals: {}, ends: {} };
    outcomes[kind] = outcome;
    const rounds = String(whole("rounds", values.rounds));
    for (let i = 0; i < whole("processes", values.processes); i++)
      await runOnce([kind, values.end, String(i), rounds], whole("hang", values.hang) * 1000, outcome);
    if (!values.json) console.log(`${kind}: ${JSON.stringify(outcome)}`);
  }
  if (values.json) console.log(JSON.stringify(outcomes));
  process.exitCode = Object.values(outcomes).some(({ crashes, hangs }) => crashes + hangs > 0) ? 1 : 0;
}
