import { joinedWidth } from "../metric-series.ts";
import type { MetricPoint, SeriesOptions } from "../store.ts";
import type { Database } from "./database.ts";

export function recordMetrics(database: Database, step: number, metrics: Readonly<Record<string, number>>): void {
  for (const [name, value] of Object.entries(metrics)) {
    database.run("INSERT INTO metric_names(name) VALUES (?) ON CONFLICT DO NOTHING", name);
    database.run(
      `INSERT INTO metrics SELECT id, ?, ? FROM metric_names WHERE name = ?
       ON CONFLICT DO UPDATE SET value = excluded.value`,
      ...[step, Number.isNaN(value) ? null : value, name],
    );
  }
}

export function metricNames(database: Database): string[] {
  return database.all("SELECT name FROM metric_names ORDER BY name").map((row) => row.text("name"));
}

export function series(database: Database, name: string, options: SeriesOptions): MetricPoint[] {
  const { from = 0, to = Number.MAX_SAFE_INTEGER, maxPoints } = options;
  const range = `FROM metrics WHERE name_id = (SELECT id FROM metric_names WHERE name = ?) AND step BETWEEN ? AND ?`;
  const extent = database.first(
    `SELECT count(*) AS count, min(step) AS first, max(step) AS last ${range}`,
    name,
    from,
    to,
  );
  if (extent === undefined || extent.number("count") === 0) return [];
  const [count, first, last] = [extent.number("count"), extent.number("first"), extent.number("last")];
  const width = joinedWidth({ count, first, last }, maxPoints);
  const rows = database.all(
    `SELECT max(step) AS step, avg(value) AS mean, min(value) AS min, max(value) AS max,
            count(*) AS count, count(value) AS numbers ${range} GROUP BY (step - ?) / ? ORDER BY 1`,
    ...[name, from, to, first, width],
  );
  return rows.map((row) => {
    const count = row.number("count");
    const value = row.number("numbers") < count ? Number.NaN : row.number("mean");
    return { step: row.number("step"), value, min: row.number("min"), max: row.number("max"), count };
  });
}

export function truncateMetrics(database: Database, step: number): void {
  database.run("DELETE FROM metrics WHERE step > ?", step);
  const isUnused = "NOT EXISTS (SELECT 1 FROM metrics WHERE name_id = metric_names.id)";
  database.run(`DELETE FROM metric_names WHERE ${isUnused}`);
}
