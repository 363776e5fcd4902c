// Writes every page of docs/results from the records in the repository, or checks that they are what the records give.
//
//     npm run results
//     npm run results -- --check

import { join } from "node:path";
import { parseArgs } from "node:util";
import { allPages, pagesThatDiffer } from "../bench/all-pages.ts";
import { writePages } from "../bench/pages.ts";

const usage = "Usage: npm run results [-- --check]";
const root = join(import.meta.dirname, "..");

function optionsOf(args: readonly string[]): { check: boolean; help: boolean } {
  const options = { check: { type: "boolean", default: false }, help: { type: "boolean", default: false } } as const;
  try {
    return parseArgs({ args: [...args], options }).values;
  } catch (error) {
    console.error(`${(error as Error).message}\n${usage}`);
    process.exit(2);
  }
}

const { check, help } = optionsOf(process.argv.slice(2));
if (help) {
  console.log(usage);
} else if (check) {
  const differing = pagesThatDiffer(root);
  for (const line of differing) console.log(line);
  const count = Object.keys(allPages(root)).length;
  console.log(differing.length === 0 ? `${count} pages are what their records give` : usage);
  process.exitCode = differing.length === 0 ? 0 : 1;
} else {
  writePages(root, allPages(root));
  console.log(`${Object.keys(allPages(root)).length} pages written`);
}
