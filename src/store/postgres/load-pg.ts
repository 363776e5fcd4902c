import { LudusError } from "../../errors.ts";

// What is used of the package `pg`, which is optional: its own types are not a dependency of ours.

export interface PgResult {
  readonly rows: readonly Readonly<Record<string, unknown>>[];
  readonly rowCount: number | null;
}

/** A named statement is planned once for each connection. */
export interface PgStatement {
  readonly name?: string;
  readonly text: string;
  readonly values: readonly unknown[];
}

export interface PgClient {
  query(statement: PgStatement): Promise<PgResult>;
  on(event: "error", listener: (error: Error) => void): unknown;
}

export interface PgSession extends PgClient {
  connect(): Promise<void>;
  end(): Promise<void>;
}

export interface PgPool extends PgClient {
  end(): Promise<void>;
}

export interface PgConfig {
  readonly connectionString: string;
  readonly password: string | undefined;
  readonly application_name: string;
  readonly options: string;
  readonly keepAlive: boolean;
  readonly connectionTimeoutMillis: number;
  readonly types: { getTypeParser(oid: number, format?: string): (text: string) => unknown };
}

export interface Pg {
  readonly Client: new (config: PgConfig) => PgSession;
  readonly Pool: new (
    config: PgConfig & { readonly max: number; readonly allowExitOnIdle: boolean; readonly idleTimeoutMillis: number },
  ) => PgPool;
  readonly types: PgConfig["types"];
}

const packageName = "pg";

export async function loadPg(load: () => Promise<unknown> = () => import(packageName)): Promise<Pg> {
  let module: unknown;
  try {
    module = await load();
  } catch (cause) {
    throw new LudusError("missing-package", {
      got: "a PostgreSQL address, and no package pg",
      expected: "the package pg, version 8.11 or newer",
      hint: "npm install pg",
      cause,
    });
  }
  // a CommonJS module: its exports are the default one
  return (module as { default: Pg }).default;
}
