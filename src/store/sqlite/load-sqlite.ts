import type * as Sqlite from "node:sqlite";

/** `node:sqlite` without the warning that Node 22 prints on loading it; every other warning passes. */
export function loadSqlite(): typeof Sqlite {
  return withoutSqliteWarning(() => process.getBuiltinModule("node:sqlite"));
}

/** Runs `load`, which must not wait, with one warning held back. */
export function withoutSqliteWarning<Value>(load: () => Value): Value {
  const emitWarning = process.emitWarning;
  const emitOthers = (...parameters: unknown[]) => {
    if (!String(parameters[0]).startsWith("SQLite is an experimental feature")) {
      Reflect.apply(emitWarning, process, parameters);
    }
  };
  process.emitWarning = emitOthers;
  try {
    return load();
  } finally {
    process.emitWarning = emitWarning;
  }
}
