// Collects .changeset/*.md into CHANGELOG.md.
//
//     npm run changelog                                  moves them, prints the next version
//     npm run changelog -- --check                       only reads them
//     npm run changeset -- engine minor "What changed."  adds one

import { join } from "node:path";
import packageJson from "../package.json" with { type: "json" };
import { errorText } from "../src/errors.ts";
import { addChangeset, collectChangesets, nextVersion, readChangesets } from "./changelog/changesets.ts";

const root = join(import.meta.dirname, "..");
const folder = join(root, ".changeset");

function main([command, ...rest]: readonly string[]): string {
  if (command === "add") {
    const [area = "", bump = "", text = ""] = rest;
    return `.changeset/${addChangeset(folder, area, bump, text)}`;
  }
  const isCheck = command === "--check";
  if (command !== undefined && !isCheck) throw new Error(`unknown argument ${command}; add and --check are known`);
  const changesets = isCheck
    ? [...readChangesets(folder).values()]
    : collectChangesets(folder, join(root, "CHANGELOG.md"));
  return `${changesets.length} changesets, next version ${nextVersion(packageJson.version, changesets)}`;
}

try {
  console.log(main(process.argv.slice(2)));
} catch (error) {
  console.error(errorText(error));
  process.exitCode = 1;
}
