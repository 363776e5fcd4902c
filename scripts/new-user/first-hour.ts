import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { readPage } from "../../test/docs/pages.ts";
import { findBrowser } from "../find-browser.ts";
import type { Need, Part } from "./part.ts";
import { photograph } from "./photograph.ts";
import type { Step } from "./user.ts";

const root = join(import.meta.dirname, "../..");
const pictures = join(root, "docs/learn");
const { version } = JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as { version: string };

/** The package as it would be published. */
export const tarballIn = (home: string) => join(home, `ludus-${version}.tgz`);

const installation = (home: string): Step[] => [
  { in: ".", say: "mkdir -p first && cd first", quiet: true },
  { in: "first", say: "npm init --yes", quiet: true },
  { in: "first", say: "npm pkg set allowScripts.onnxruntime-node=false --json" },
  { in: "first", say: `npm install ${tarballIn(home)}`, expect: [/^added \d+ packages/m] },
];

const newProject = (home: string): Step[] => [
  { in: ".", say: "npx ludus init my-agent", from: "first", lines: 16, expect: [/^wrote env\.ts$/m] },
  {
    in: "my-agent",
    say: "cd my-agent && npm install",
    before: () => usePacked(home),
    expect: [/^added \d+ packages/m],
  },
];

const firstTraining: Step = {
  in: "my-agent",
  say: "npm run train",
  lines: 20,
  expect: [/^ended: finished$/m, /^finished after 210 steps, .*kept in runs\/key-hunt-1$/m],
};

const testing: Step = { in: "my-agent", say: "npm test", lines: 8, expect: [/Tests +\d+ passed/] };

export const installed: Need = { path: "first/node_modules/ludus", steps: installation };

/** The project of `ludus init` with its packages and the run that it trains out of the box. */
export const project: Need = {
  path: "my-agent/runs/key-hunt-1",
  needs: [installed],
  steps: (home) => [...newProject(home), firstTraining],
};

function usePacked(home: string): void {
  const path = join(home, "my-agent/package.json");
  const json = JSON.parse(readFileSync(path, "utf8")) as { dependencies: Record<string, string> };
  json.dependencies.ludus = `file:${tarballIn(home)}`;
  writeFileSync(path, `${JSON.stringify(json, undefined, 2)}\n`);
}

/** The first program of a page. */
function programOf(path: string): string {
  const block = readPage(join(root, path)).blocks.find(({ language }) => language === "ts");
  if (block === undefined) throw new Error(`${path} has no program`);
  return `${block.text}\n`;
}

export const install: Part = {
  name: "install",
  title: "Install",
  async run(user) {
    await user.does(installation(user.home));
    await user.does([{ in: "first", say: "npx ludus version", expect: [new RegExp(`^${version}$`, "m")] }]);
  },
};

export const firstAgent: Part = {
  name: "first-agent",
  title: "A first agent",
  needs: [installed],
  async run(user) {
    const copy = () => writeFileSync(join(user.home, "first/shelf.mts"), programOf("README.md"));
    user.byHand("# shelf.mts is the program of the README", copy);
    await user.does([
      { in: "first", say: "node shelf.mts", lines: 14, expect: [/^ended: finished$/m, /^0\.\d+ 0\.9\d*$/m] },
      { in: "first", say: "npx ludus runs", expect: [/^shelf .* finished$/m] },
      { in: "first", say: "npx ludus replay runs/shelf best", lines: 16, expect: [/^score 1, success$/m] },
    ]);
  },
};

export const ownProject: Part = {
  name: "project",
  title: "A project of one's own",
  needs: [installed],
  async run(user) {
    await user.does([
      ...newProject(user.home),
      testing,
      { in: "my-agent", say: "npm run types", quiet: true },
      firstTraining,
      {
        in: "my-agent",
        say: "npx ludus doctor runs/key-hunt-1",
        lines: 24,
        expect: [/nothing is wrong with this run/],
      },
    ]);
    user.byHand("# env.ts and train.ts are now those of the tutorial", () => copyTutorial(user.home));
    await user.does([
      { in: "my-agent", say: "npx ludus env check ./env.ts", lines: 12, expect: [/^caretaker keeps its promises/m] },
      testing,
      { ...firstTraining, expect: [/^ended: finished$/m, /kept in runs\/caretaker-1$/m] },
      {
        in: "my-agent",
        say: "npx ludus eval runs/caretaker-1 --file train.ts --attempts 4",
        lines: 16,
        expect: [/^success \(95 %\) +0\.9/m, /^pass@4 /m],
      },
    ]);
  },
};

function copyTutorial(home: string): void {
  const blocks = readPage(join(root, "docs/learn/tutorial.md")).blocks;
  for (const { text } of blocks.filter(({ language }) => language === "ts")) {
    const name = /^\/\/ ([\w.-]+\.ts)$/.exec(text.split("\n", 1)[0])?.[1];
    if (name !== undefined) writeFileSync(join(home, "my-agent", name), `${text}\n`);
  }
}

/** Pictures are of the tutorial's run. */
const tutorialRun: Need = {
  path: "my-agent/runs/caretaker-1",
  needs: [project],
  steps: (home) => [{ ...firstTraining, before: () => copyTutorial(home), expect: [/kept in runs\/caretaker-1$/m] }],
};

export const dashboard: Part = {
  name: "dashboard",
  title: "The dashboard",
  needs: [tutorialRun],
  async run(user) {
    mkdirSync(pictures, { recursive: true });
    await user.serves("npx ludus dashboard runs", "my-agent", { prints: /^http:\S+(?=\s)/m }, async ({ address }) => {
      await user.fetches(address);
      const browser = findBrowser(process.env.LUDUS_BROWSER || undefined);
      if (browser.found) user.notes(await photograph(browser.browser, address, pictures));
      else user.notes(`No pictures were taken: ${browser.reason}.`);
    });
  },
};

export const existingAgent: Part = {
  name: "existing-agent",
  title: "An agent that is there already",
  needs: [installed],
  async run(user) {
    const copy = () => writeFileSync(join(user.home, "first/agent.mts"), programOf("docs/how-to/existing-agents.md"));
    user.byHand("# agent.mts is the program of the page about existing agents", copy);
    await user.does([{ in: "first", say: "node agent.mts", lines: 12, expect: [/^[\d.]+ [\d.]+$/m] }]);
  },
};
