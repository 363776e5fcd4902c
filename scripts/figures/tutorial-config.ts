import { mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import type { TrainConfig } from "../../src/index.ts";
import { readPage } from "../../test/docs/pages.ts";

const root = join(import.meta.dirname, "../..");

/** The configuration that the tutorial ends with, from the page itself. `folder` holds its files. */
export async function tutorialConfig(folder: string): Promise<TrainConfig> {
  for (const { text } of readPage(join(root, "docs/learn/tutorial.md")).blocks) {
    const name = /^\/\/ ([\w.-]+\.ts)$/.exec(text.split("\n", 1)[0])?.[1];
    if (name !== undefined) writeFileSync(join(folder, name), text);
  }
  const own = join(folder, "node_modules/ludus");
  mkdirSync(own, { recursive: true });
  writeFileSync(join(folder, "package.json"), JSON.stringify({ type: "module" }));
  writeFileSync(
    join(own, "package.json"),
    JSON.stringify({ name: "ludus", type: "module", exports: "./src/index.ts" }),
  );
  symlinkSync(join(root, "src"), join(own, "src"), "junction");
  const { config } = (await import(pathToFileURL(join(folder, "train.ts")).href)) as { config: TrainConfig };
  return config;
}
