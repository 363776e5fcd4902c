import type { PgResult } from "./load-pg.ts";

export type Row = PgResult["rows"][number];

export type Query = (text: string, values?: readonly unknown[]) => Promise<readonly Row[]>;
