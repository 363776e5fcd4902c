import { describe, expect, test } from "vitest";
import { notOneQuery } from "./one-query.ts";
import { runQuery } from "./run-query.ts";

const script = "CREATE TABLE t(a INTEGER, b TEXT); INSERT INTO t VALUES (1, 'x'), (9007199254740993, NULL)";

test("rows come as they are; what JSON cannot hold comes as text", async () => {
  expect(await runQuery({ script, sql: "SELECT a, b FROM t" })).toEqual({
    ok: true,
    table: {
      columns: ["a", "b"],
      rows: [
        [1, "x"],
        ["9007199254740993", null],
      ],
    },
  });
  const odd = await runQuery({ script, sql: "SELECT 1e999, x'00ff', 0.5" });
  expect(odd).toMatchObject({ table: { rows: [["Infinity", "x'00ff'", 0.5]] } });
});

test.each([
  ["SELECT c FROM t", "no such column: c"],
  ["ATTACH '/tmp/a' AS a", "not SELECT"],
  ["PRAGMA query_only = OFF", "not SELECT"],
  ["/* SELECT */ DROP TABLE t", "not SELECT"],
  ["SELECT 1; SELECT 2", "2 statements"],
  ["WITH x AS (SELECT 1) UPDATE t SET a = 0", "readonly"],
  ["WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c) SELECT n FROM c", "more than 1000 rows"],
  ["WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c) SELECT max(n) FROM c", "took longer than 300 ms"],
  ["SELECT printf('%.*c', 200000, 'x')", "more than 100000 characters"],
  ["SELECT 'x", "does not end"],
  [" ", "0 statements"],
  [`SELECT ${"1 + ".repeat(10_000)}1`, "more than 20000 characters"],
])("%s is told what is wrong with it", async (sql, problem) => {
  const limits = problem.includes("300 ms") ? { timeoutMs: 300 } : {};
  expect(await runQuery({ script, sql }, limits)).toEqual({
    ok: false,
    problem: expect.stringContaining(problem),
  });
});

test("a query that does not end costs nobody else's, and nothing that was asked is changed", async () => {
  const endless = "WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c) SELECT max(n) FROM c";
  const asked = [endless, "SELECT count(*) FROM t", endless, "SELECT b FROM t WHERE a = 1", "DELETE FROM t"];
  const results = await Promise.all(
    asked.map((sql) => runQuery({ script, sql }, sql === endless ? { timeoutMs: 300 } : {})),
  );
  expect(results.map(({ ok }) => ok)).toEqual([false, true, false, true, false]);
  expect(await runQuery({ script, sql: "SELECT count(*) FROM t" })).toMatchObject({ table: { rows: [[2]] } });
});

test("a script that does not run is not the query's fault, and a cancelled query throws", async () => {
  await expect(runQuery({ script: "CREATE TABL", sql: "SELECT 1" })).rejects.toThrow(/^sql-failed: .*syntax error/);
  const signal = AbortSignal.abort(new Error("stopped"));
  await expect(runQuery({ script, sql: "SELECT 1" }, { signal })).rejects.toThrow("stopped");
});

describe("one query is", () => {
  test.each([
    "SELECT ';'",
    "select 1;",
    "-- first\nWITH x AS (SELECT 1) SELECT * FROM x",
    'SELECT "a;b" FROM t -- ; end',
  ])("%s", (sql) => expect(notOneQuery(sql)).toBeUndefined());
});
