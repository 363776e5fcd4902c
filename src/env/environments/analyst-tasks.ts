import type { Rng } from "../../random.ts";
import { draw, pick } from "./draw.ts";
import type { Style } from "./moves.ts";

/** 1: one number. 2: rows by a column. 3: a join. 4: a chart, highest first. 5: two joins. */
export type AnalystLevel = 1 | 2 | 3 | 4 | 5;
export const analystLevels: readonly AnalystLevel[] = [1, 2, 3, 4, 5];

export const chartMarks = ["bar", "line", "pie"] as const;
export type ChartMark = (typeof chartMarks)[number];

type Measure = "count" | "units" | "most" | "revenue";
type Grouping = "city" | "item" | "day" | "kind" | "land";

export interface AnalystTask {
  /** Makes the data; the database that only the verifier sees has the next seed. */
  readonly seed: number;
  readonly level: AnalystLevel;
  readonly measure: Measure;
  readonly by?: Grouping;
  readonly where?: { readonly column: "city" | "item" | "kind" | "land"; readonly value: string };
  /** So many rows at most, highest first, equals by name. */
  readonly top?: number;
  readonly chart?: ChartMark;
}

const lands = ["it", "de", "fr"];
const cities: Readonly<Record<string, string>> = { rome: "it", bonn: "de", lyon: "fr", nice: "fr", jena: "de" };
const items: Readonly<Record<string, string>> = {
  ...{ tea: "food", rice: "food", saw: "tool", nail: "tool", atlas: "book", novel: "book" },
};

const measures: Readonly<Record<Measure, { readonly sql: string; readonly asks: string; readonly name: string }>> = {
  count: { sql: "count(*)", asks: "the number of sales", name: "count" },
  units: { sql: "sum(n)", asks: "the units sold (the sum of n)", name: "units" },
  most: { sql: "max(n)", asks: "the largest n of a sale", name: "most" },
  revenue: { sql: "sum(n*price)", asks: "the revenue (the sum of n times price)", name: "revenue" },
};

/** Where a column is, other than in `sales`. */
const homes: Readonly<Record<string, "items" | "cities">> = { kind: "items", price: "items", land: "cities" };

export function drawAnalystTask(rng: Rng, level: AnalystLevel): AnalystTask {
  const seed = rng.integer(2 ** 30);
  const plain = () => pick(rng, ["count", "units", "most"] as const);
  const own = () => {
    const column = pick(rng, ["city", "item"] as const);
    return { column, value: pick(rng, Object.keys(column === "city" ? cities : items)) };
  };
  switch (level) {
    case 1:
      return { seed, level, measure: plain(), where: own() };
    case 2:
      return { seed, level, measure: plain(), by: pick(rng, ["city", "item", "day"] as const) };
    case 3: {
      const isRevenue = rng.integer(2) === 0;
      if (isRevenue) return { seed, level, measure: "revenue", by: pick(rng, ["city", "day"] as const) };
      return { seed, level, measure: plain(), by: pick(rng, ["kind", "land"] as const) };
    }
    case 4: {
      const by = pick(rng, ["city", "item", "kind"] as const);
      const measure = by === "kind" ? plain() : pick(rng, ["count", "units"] as const);
      return { seed, level, measure, by, top: 2 + rng.integer(2), chart: pick(rng, chartMarks) };
    }
    case 5:
      return { seed, level, measure: "revenue", by: "kind", where: { column: "land", value: pick(rng, lands) } };
    default:
      return level satisfies never;
  }
}

/** The same question about other data is the same question. */
export function analystKey({ seed: _seed, ...question }: AnalystTask): string {
  return JSON.stringify(question);
}

/** The script of a database: every item and city, and so many sales. */
export function analystDatabase(rng: Rng, sales: number): string {
  const text = (value: string) => `'${value}'`;
  const row = (cells: readonly (string | number)[]) =>
    `(${cells.map((cell) => (typeof cell === "number" ? cell : text(cell))).join(",")})`;
  const itemRows = draw(rng, Object.entries(items)).map(([item, kind]) => row([item, kind, 1 + rng.integer(9)]));
  const cityRows = draw(rng, Object.entries(cities)).map(([city, land]) => row([city, land]));
  const sold = Array.from({ length: sales }, () => {
    return row([1 + rng.integer(5), pick(rng, Object.keys(cities)), pick(rng, Object.keys(items)), 1 + rng.integer(9)]);
  });
  return [
    ...schema.map((line) => `${line};`),
    `INSERT INTO items VALUES ${itemRows.join(",")};`,
    `INSERT INTO cities VALUES ${cityRows.join(",")};`,
    `INSERT INTO sales VALUES ${sold.join(",")};`,
  ].join("\n");
}

const schema = [
  "CREATE TABLE sales(day INTEGER, city TEXT, item TEXT, n INTEGER)",
  "CREATE TABLE items(item TEXT, kind TEXT, price INTEGER)",
  "CREATE TABLE cities(city TEXT, land TEXT)",
];

/** The query that answers a task. */
export function analystSql({ measure, by, where, top }: AnalystTask): string {
  const columns = [by ?? "", where?.column ?? "", measure === "revenue" ? "price" : ""];
  const tables = [...new Set(columns.flatMap((column) => homes[column] ?? []))];
  const joins = tables.map((table) => ` join ${table} using(${table === "items" ? "item" : "city"})`).join("");
  const grouped = by === undefined ? "" : ` group by ${by}`;
  const ordered = top === undefined ? "" : ` order by 2 desc,1 limit ${top}`;
  const filter = where === undefined ? "" : ` where ${where.column}='${where.value}'`;
  const selected = `${by === undefined ? "" : `${by},`}${measures[measure].sql} ${measures[measure].name}`;
  return `select ${selected} from sales${joins}${filter}${grouped}${ordered}`;
}

/** The names of the columns of a chart: what is along it, and how high it is. */
export function chartColumns({ measure, by = "city" }: AnalystTask): { readonly x: string; readonly y: string } {
  return { x: by, y: measures[measure].name };
}

export function askAnalyst(task: AnalystTask, style: Style): string {
  const { measure, by, where, top, chart } = task;
  if (style === "compact") {
    const parts = [
      ...[chart ?? "", measures[measure].name, by === undefined ? "" : `by ${by}`],
      ...[where === undefined ? "" : `${where.column}=${where.value}`, top === undefined ? "" : `top ${top}`],
    ];
    return parts.filter((part) => part !== "").join(" ");
  }
  const filter = where === undefined ? "" : ` where ${where.column} is '${where.value}'`;
  const grouped = by === undefined ? "" : ` for each ${by}`;
  const { x, y } = chartColumns(task);
  const wanted =
    chart === undefined
      ? `Give ${by === undefined ? "one row" : `rows of ${by} and the value`}, with submit.`
      : `Draw a ${chart} chart with chart: ${x} along x, the value, called ${y}, along y; the ${top} highest first, equals by ${x}.`;
  return [...schema.map((line) => `${line};`), "", `Find ${measures[measure].asks}${grouped}${filter}. ${wanted}`].join(
    "\n",
  );
}
