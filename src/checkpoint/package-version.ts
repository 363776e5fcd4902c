import { readFileSync } from "node:fs";

export function packageVersion(): string {
  // the same number of folders up from src/checkpoint and from dist/checkpoint
  const { version } = JSON.parse(readFileSync(new URL("../../package.json", import.meta.url), "utf8"));
  return String(version);
}
