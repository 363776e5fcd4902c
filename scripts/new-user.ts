// Does what a new user does, in an empty folder, with the package as it would be published, checks what comes of it, and writes it
// down: docs/learn/transcript.md, and pictures of the dashboard where there is a browser.

import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { availableParallelism, loadavg, tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { parseArgs } from "node:util";
import { nearest } from "../src/nearest.ts";
import { aiSdkAgent } from "./new-user/ai-sdk-agent.ts";
import { exported, inVllm, python, vllmPython } from "./new-user/elsewhere.ts";
import { dashboard, existingAgent, firstAgent, install, ownProject, tarballIn } from "./new-user/first-hour.ts";
import { crash, misspelt } from "./new-user/mistakes.ts";
import { merge, readPage, writePage } from "./new-user/page.ts";
import { type Part, provide } from "./new-user/part.ts";
import { served } from "./new-user/served.ts";
import { killAll, run } from "./new-user/shell.ts";
import { type Recording, seconds, User } from "./new-user/user.ts";

const root = join(import.meta.dirname, "..");
const path = join(root, "docs/learn/transcript.md");
const parts: readonly Part[] = [
  ...[install, firstAgent, ownProject, dashboard, existingAgent],
  ...[crash, misspelt, aiSdkAgent, served, exported, inVllm],
];
const names = parts.map(({ name }) => name);

const help = `Usage: node scripts/new-user.ts [options]

Options:
  --only <part,…>  Record these parts; the others, and those that fail, stay as they were in docs/learn/transcript.md
  --in <folder>    Work in this folder and leave it as it is at the end; what is there already is not made again
  --keep           Leave the temporary folder, and print its path
  --help           Print this text

Parts: ${names.join(", ")}
The parts export and vllm use LUDUS_PYTHON (or .venv) and LUDUS_VLLM_PYTHON, where there are such.

Example:
  node scripts/new-user.ts --only serve,export
`;

function chosenParts(only: string | undefined): readonly Part[] {
  const wanted = only?.split(",") ?? names;
  const unknown = wanted.find((name) => !names.includes(name));
  if (unknown === undefined) return parts.filter(({ name }) => wanted.includes(name));
  const meant = nearest(unknown, names);
  throw new Error(
    `no part "${unknown}"; ${meant === undefined ? `parts: ${names.join(", ")}` : `did you mean "${meant}"?`}`,
  );
}

/** Adds to `made` part by part, so that what was recorded before a failure is not lost. */
async function record(chosen: readonly Part[], home: string, made: Recording[]): Promise<void> {
  const tarball = tarballIn(home);
  const shown = {
    [tarball]: "ludus",
    ...(python.found && { [python.python]: "python" }),
    ...(vllmPython && { [vllmPython]: "python" }),
  };
  if (!existsSync(tarball)) await pack(home);
  for (const [i, part] of chosen.entries()) {
    process.stderr.write(`\n== ${i + 1}/${chosen.length} ${part.name}: ${part.title}\n`);
    try {
      await provide(new User(home, shown), part.needs);
      const user = new User(home, shown);
      await part.run(user);
      made.push(user.recording(part.title));
    } catch (error) {
      throw new Error(`part ${part.name}: ${error instanceof Error ? error.message : String(error)}`, { cause: error });
    }
  }
}

async function pack(home: string): Promise<void> {
  process.stderr.write("== packing\n");
  const { said, status } = await run(`npm pack --pack-destination ${home}`, root);
  if (status !== 0) throw new Error(`npm pack: expected exit status 0, got ${status}. It answered:\n${said}`);
}

function writeTranscript(made: readonly Recording[], load: number): void {
  const old = existsSync(path) ? readPage(readFileSync(path, "utf8")) : undefined;
  const isWhole = old === undefined || made.length === parts.length;
  const recordings = merge(
    old?.recordings ?? [],
    made,
    parts.map(({ title }) => title),
  );
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, writePage({ head: isWhole ? head(load) : old.head, recordings }));
}

function head(load: number): string {
  return `# A new user's transcript

Made by \`node scripts/new-user.ts\`, which also checks every answer: the package as it would be published, in an empty folder, on
${availableParallelism()} cores with Node ${process.versions.node}. npm took packages from its cache where it had them; \`ludus\` itself came from a file, since it is not
published yet. Long outputs are cut in the middle. The machine's load was ${load.toFixed(1)} before.`;
}

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      only: { type: "string" },
      in: { type: "string" },
      keep: { type: "boolean", default: false },
      help: { type: "boolean", default: false },
    },
  });
  if (values.help) {
    process.stdout.write(help);
    return;
  }
  const chosen = chosenParts(values.only);
  const load = loadavg()[0];
  const home = values.in === undefined ? mkdtempSync(join(tmpdir(), "ludus-new-user-")) : resolve(values.in);
  mkdirSync(home, { recursive: true });
  const leave = () => {
    killAll();
    if (values.keep) process.stdout.write(`${home}\n`);
    else if (values.in === undefined) rmSync(home, { recursive: true, force: true });
  };
  for (const signal of ["SIGINT", "SIGTERM"] as const) {
    process.once(signal, () => {
      leave();
      process.exit(130);
    });
  }
  const made: Recording[] = [];
  try {
    await record(chosen, home, made);
  } finally {
    if (made.length > 0) writeTranscript(made, load);
    for (const { title, ms } of made) process.stderr.write(`recorded ${title}: ${seconds(ms)}\n`);
    leave();
  }
}

try {
  await main();
} catch (error) {
  process.stderr.write(`new-user: ${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 1;
}
