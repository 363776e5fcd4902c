// Does what a new user does, in an empty folder, with the package as it would be published, and writes down what it took:
// docs/learn/transcript.md, and pictures of the dashboard where there is a browser.
//
//     node scripts/new-user.ts
//     node scripts/new-user.ts --keep    leaves the folder as it was at the end

import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { availableParallelism, loadavg, tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { parseArgs } from "node:util";
import { readPage } from "../test/docs/pages.ts";
import { findBrowser } from "./find-browser.ts";
import { photograph } from "./new-user/photograph.ts";
import { type Step, Transcript } from "./new-user/transcript.ts";

const root = join(import.meta.dirname, "..");
const pictures = join(root, "docs/learn");
const { values } = parseArgs({ options: { keep: { type: "boolean", default: false } } });

/** The first program of a page. */
function programOf(path: string): string {
  const block = readPage(join(root, path)).blocks.find(({ language }) => language === "ts");
  if (block === undefined) throw new Error(`${path} has no program`);
  return `${block.text}\n`;
}

const loadBefore = loadavg()[0];
const home = mkdtempSync(join(tmpdir(), "ludus-new-user-"));
const { version } = JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as { version: string };
const tarball = join(home, `ludus-${version}.tgz`);
const transcript = new Transcript(home, { [tarball]: "ludus" });

async function main(): Promise<void> {
  await transcript.quietly("npm", ["pack", "--pack-destination", home], root);
  await transcript.part("Install", install());
  await transcript.part("A first agent", firstAgent());
  await transcript.part("A project of one's own", ownProject());
  await lookAtRuns();
  await transcript.part("An agent that is there already", existingAgent());
  writeFileSync(join(root, "docs/learn/transcript.md"), page());
}

function install(): Step[] {
  return [
    { in: ".", say: "mkdir first && cd first", do: () => mkdirSync(join(home, "first")) },
    { in: "first", say: "npm init --yes", quiet: true },
    { in: "first", say: "npm pkg set allowScripts.onnxruntime-node=false --json" },
    { in: "first", say: `npm install ${tarball}` },
    { in: "first", say: "npx ludus version" },
  ];
}

function firstAgent(): Step[] {
  const copy = () => writeFileSync(join(home, "first/shelf.mts"), programOf("README.md"));
  return [
    { in: "first", say: "# shelf.mts is the program of the README", do: copy },
    { in: "first", say: "node shelf.mts", lines: 14 },
    { in: "first", say: "npx ludus runs" },
    { in: "first", say: "npx ludus replay runs/shelf best", lines: 16 },
  ];
}

function ownProject(): Step[] {
  const usePacked = () => {
    const path = join(home, "my-agent/package.json");
    const json = JSON.parse(readFileSync(path, "utf8")) as { dependencies: Record<string, string> };
    json.dependencies.ludus = `file:${tarball}`;
    writeFileSync(path, `${JSON.stringify(json, undefined, 2)}\n`);
  };
  const edit = () => {
    const blocks = readPage(join(root, "docs/learn/tutorial.md")).blocks;
    for (const { text } of blocks.filter(({ language }) => language === "ts")) {
      const name = /^\/\/ ([\w.-]+\.ts)$/.exec(text.split("\n", 1)[0])?.[1];
      if (name !== undefined) writeFileSync(join(home, "my-agent", name), `${text}\n`);
    }
  };
  return [
    { in: ".", say: "npx ludus init my-agent", from: "first", lines: 16 },
    { in: "my-agent", say: "cd my-agent && npm install", before: usePacked },
    { in: "my-agent", say: "npm test", lines: 8 },
    { in: "my-agent", say: "npm run types", quiet: true },
    { in: "my-agent", say: "npm run train", lines: 20 },
    { in: "my-agent", say: "npx ludus doctor runs/key-hunt-1", lines: 24 },
    { in: "my-agent", say: "# env.ts and train.ts are now those of the tutorial", do: edit },
    { in: "my-agent", say: "npx ludus env check ./env.ts", lines: 12 },
    { in: "my-agent", say: "npm test", lines: 8 },
    { in: "my-agent", say: "npm run train", lines: 20 },
    { in: "my-agent", say: "npx ludus eval runs/caretaker-1 --file train.ts --attempts 4", lines: 16 },
  ];
}

/** The dashboard over the run of the new project. */
async function lookAtRuns(): Promise<void> {
  const project = join(home, "my-agent");
  const served = await transcript.serve("The dashboard", "npx ludus dashboard runs", project, /^http:\S+$/m);
  try {
    await transcript.fetched(served.address);
    const browser = findBrowser(process.env.LUDUS_BROWSER || undefined);
    if (browser.found) transcript.note(await photograph(browser.browser, served.address, pictures));
    else transcript.note(`No pictures were taken: ${browser.reason}.`);
  } finally {
    await served.stop();
  }
}

function existingAgent(): Step[] {
  const copy = () => writeFileSync(join(home, "first/agent.mts"), programOf("docs/how-to/existing-agents.md"));
  return [
    { in: "first", say: "# agent.mts is the program of the page about existing agents", do: copy },
    { in: "first", say: "node agent.mts", lines: 12 },
  ];
}

function page(): string {
  const head = `# A new user's transcript

Made by \`node scripts/new-user.ts\`: the package as it would be published, in an empty folder, on ${availableParallelism()} cores with Node
${process.versions.node}. npm took packages from its cache where it had them; \`ludus\` itself came from a file, since it is not published yet. Long
outputs are cut in the middle. The machine's load was ${loadBefore.toFixed(1)} before.`;
  return `${head}\n\n${transcript.markdown()}`;
}

try {
  mkdirSync(dirname(join(root, "docs/learn/transcript.md")), { recursive: true });
  await main();
} finally {
  if (values.keep) console.log(home);
  else rmSync(home, { recursive: true, force: true });
}
