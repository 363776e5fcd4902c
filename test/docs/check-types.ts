import { spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import type { Block, Page } from "./pages.ts";

/** The package's entry points with their files in this repository: `["ludus/loss", "src/loss/index.ts"]`. */
export function entrySources(): [string, string][] {
  const { exports } = JSON.parse(readFileSync("package.json", "utf8")) as {
    exports: Record<string, string | { default: string }>;
  };
  return Object.entries(exports).flatMap(([entry, target]): [string, string][] => {
    if (typeof target === "string") return [];
    return [[join("ludus", entry), target.default.replace("./dist/", "src/").replace(/\.js$/, ".ts")]];
  });
}

/** Programs, and the files that a first line such as `// env.ts` names; not what is marked as a fragment. */
export function isChecked({ language, info, text }: Block): boolean {
  return language === "ts" && info !== "ignore" && (/ from "ludus["/]/.test(text) || fileNameOf(text) !== undefined);
}

export function fileNameOf(text: string): string | undefined {
  return /^\/\/ ([\w.-]+\.ts)$/.exec(text.split("\n", 1)[0])?.[1];
}

/** Compiles the blocks of all pages at once; returns what the compiler says, by the lines of the pages. */
export async function checkTypes(pages: readonly Page[]): Promise<{ blocks: number; problems: string }> {
  mkdirSync(".scratch", { recursive: true });
  const folder = mkdtempSync(join(".scratch", "docs-"));
  try {
    let blocks = 0;
    for (const { path, blocks: all } of pages) {
      for (const block of all.filter(isChecked)) {
        const file = join(folder, path, fileNameOf(block.text) ?? `line-${block.line}.ts`);
        mkdirSync(dirname(file), { recursive: true });
        // so that the compiler's lines are those of the page
        writeFileSync(file, "\n".repeat(block.line - 1) + block.text);
        blocks++;
      }
    }
    const paths = Object.fromEntries(entrySources().map(([entry, source]) => [entry, [`../../${source}`]]));
    const compilerOptions = { paths, moduleDetection: "force" };
    const config = { extends: "../../tsconfig.json", compilerOptions, include: ["**/*.ts", "../../src/**/*.d.ts"] };
    writeFileSync(join(folder, "tsconfig.json"), JSON.stringify(config));
    const said = await compile(folder);
    return { blocks, problems: said.replaceAll(`${folder}/`, "") };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function compile(folder: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const compiler = spawn(process.execPath, ["node_modules/typescript/bin/tsc", "-p", folder]);
    let said = "";
    compiler.stdout.on("data", (chunk) => {
      said += chunk;
    });
    compiler.stderr.on("data", (chunk) => {
      said += chunk;
    });
    compiler.once("error", reject);
    compiler.once("close", () => resolve(said));
  });
}
