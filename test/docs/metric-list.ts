import { globSync, readFileSync } from "node:fs";
import { metric } from "../../src/monitor/index.ts";

/** Names of metrics as the sources have them; `<…>` stands for what a name is made with. */
export function metricNames(): ReadonlySet<string> {
  const listed = Object.values(metric).map((name) => (typeof name === "string" ? name : name("<…>")));
  const written = ["loss", "credit", "guide", "train"].flatMap((folder) =>
    globSync(`src/${folder}/*.ts`)
      .filter((path) => !/\.(test|contract)\.ts$/.test(path))
      .flatMap(namesIn),
  );
  return new Set([...listed, ...written]);
}

/** Keys such as `"credit/group-std":`, and names that are given one. */
function namesIn(path: string): string[] {
  const source = readFileSync(path, "utf8");
  const names = source.matchAll(/"([a-z][a-z-]*\/[a-z-]+)"(?=:|;)/g);
  return Array.from(names, ([, name]) => name).filter((name) => !name.startsWith("runs/"));
}
