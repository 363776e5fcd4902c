import { statSync } from "node:fs";
import { resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { errorText, LudusError } from "../errors.ts";
import { usageError } from "./parse-options.ts";

/** What a user's file exports. TypeScript runs as it is. What else is wrong in the file is told with its own stack. */
export async function loadModule(file: string): Promise<Readonly<Record<string, unknown>>> {
  const path = resolve(file);
  if (statSync(path, { throwIfNoEntry: false })?.isFile() !== true) {
    throw usageError("no-such-file", { got: `"${file}"`, expected: `a file at ${path}` });
  }
  try {
    return await import(pathToFileURL(path).href);
  } catch (error) {
    throw explained(error, file);
  }
}

function explained(error: unknown, file: string): unknown {
  const code = error instanceof Error && "code" in error ? error.code : undefined;
  const got = `${file}: ${errorText(error)}`;
  switch (code) {
    case "ERR_UNSUPPORTED_TYPESCRIPT_SYNTAX":
    case "ERR_INVALID_TYPESCRIPT_SYNTAX": {
      const hint = "Types are taken out, nothing is compiled: no enum, no namespace, no parameter properties.";
      return new LudusError("bad-typescript", {
        got,
        expected: "TypeScript that Node runs as it is",
        hint,
        cause: error,
      });
    }
    case "ERR_UNKNOWN_FILE_EXTENSION":
      return new LudusError("bad-typescript", {
        got: `${got} (Node ${process.versions.node})`,
        expected: "a .ts, .mts, .js or .mjs file",
        hint: "Node 22.18 or newer runs TypeScript.",
        cause: error,
      });
    case "ERR_MODULE_NOT_FOUND": {
      const hint = 'Relative imports end in .ts, as in "./env.ts"; packages want npm install.';
      return new LudusError("import-missing", { got, expected: "imports that are there", hint, cause: error });
    }
    default:
      return error;
  }
}
