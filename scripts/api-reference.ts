// Writes docs/reference/api.md and docs/reference/api/ from the types: npm run docs

import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { apiPages } from "./api/api-pages.ts";
import { readApi } from "./api/read-api.ts";

const root = join(import.meta.dirname, "..");
const target = join(root, "docs/reference");
const pages = apiPages(readApi(root));
rmSync(join(target, "api"), { recursive: true, force: true });
for (const [name, text] of Object.entries(pages)) {
  mkdirSync(dirname(join(target, name)), { recursive: true });
  writeFileSync(join(target, name), text);
}
console.log(`${Object.keys(pages).length} pages, ${Object.values(pages).join("").split("\n").length} lines`);
