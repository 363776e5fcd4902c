import { execFileSync } from "node:child_process";
import { afterEach, beforeEach, expect, test } from "vitest";
import { withoutSqliteWarning } from "./load-sqlite.ts";

const emitWarning = process.emitWarning;
let warnings: string[];

beforeEach(() => {
  warnings = [];
  process.emitWarning = (warning: string | Error) => void warnings.push(String(warning));
});
afterEach(() => {
  process.emitWarning = emitWarning;
});

test("the one warning is held back while loading, others and later ones are not", () => {
  const message = "SQLite is an experimental feature and might change at any time";
  const loaded = withoutSqliteWarning(() => {
    process.emitWarning(message, "ExperimentalWarning");
    process.emitWarning("something else", "ExperimentalWarning");
    return "loaded";
  });
  process.emitWarning(message);
  expect(loaded).toBe("loaded");
  expect(warnings).toEqual(["something else", message]);
});

test("a load that fails puts the warnings back", () => {
  const before = process.emitWarning;
  expect(() => withoutSqliteWarning(() => JSON.parse("{"))).toThrow(SyntaxError);
  expect(process.emitWarning).toBe(before);
});

test("this Node prints nothing", () => {
  const program = `import { loadSqlite } from ${JSON.stringify(new URL("./load-sqlite.ts", import.meta.url).href)};
    new (loadSqlite().DatabaseSync)(":memory:").close();`;
  const { execPath } = process;
  const printed = execFileSync(execPath, ["--input-type=module", "-e", `${program}`], {
    stdio: ["ignore", "pipe", "pipe"],
  });
  expect(printed.toString()).toBe("");
  const both = execFileSync("sh", ["-c", '"$0" --input-type=module -e "$1" 2>&1', execPath, program], {
    encoding: "utf8",
  });
  expect(both).toBe("");
});
