import { existsSync } from "node:fs";
import { resolve } from "node:path";
import { defined } from "../defined.ts";
import type { Env } from "../env/env.ts";
import { type ShippedOptions, shippedEnvs } from "../env/environments/index.ts";
import { LudusError } from "../errors.ts";
import { nearest } from "../nearest.ts";
import { loadModule } from "./load-module.ts";
import { usageError } from "./parse-options.ts";

/** A shipped environment by its name, or what a module exports as `env`, or the one of its `config`. */
export async function loadEnv(nameOrFile: string | undefined, options: ShippedOptions = {}): Promise<Env> {
  if (nameOrFile === undefined) {
    throw usageError("no-env", { got: "nothing", expected: "the name of an environment or a file that exports `env`" });
  }
  if (/[/\\]|\.[cm]?[jt]s$/.test(nameOrFile)) return loadFile(nameOrFile, options);
  const names = Object.keys(shippedEnvs);
  const found = names.includes(nameOrFile) ? shippedEnvs[nameOrFile] : undefined;
  if (found !== undefined) return found.make(options);
  const meant = nearest(nameOrFile, names);
  throw usageError("unknown-env", {
    got: `"${nameOrFile}"`,
    expected: `one of ${names.join(", ")}, or a file such as ./my-env.ts`,
    ...defined({ hint: meant !== undefined ? `Did you mean "${meant}"?` : undefined }),
  });
}

async function loadFile(file: string, { style }: ShippedOptions): Promise<Env> {
  if (!existsSync(resolve(file)))
    throw usageError("no-env-file", { got: `"${file}"`, expected: `a file at ${resolve(file)}` });
  if (style !== undefined) {
    throw usageError("bad-option", { got: `--style ${style}`, expected: "an environment that comes with ludus" });
  }
  const exported = await loadModule(file);
  if (isEnv(exported.env)) return exported.env;
  const config: unknown = typeof exported.config === "function" ? await exported.config() : exported.config;
  if (typeof config === "object" && config !== null && "env" in config && isEnv(config.env)) return config.env;
  throw new LudusError("no-env-in-file", {
    got: `${file} with ${Object.keys(exported).join(", ") || "no exports"}`,
    expected: "an environment, exported as `env`, or a `config` with one",
    hint: "export const env = defineEnv({ … });",
  });
}

export function isEnv(value: unknown): value is Env {
  return (
    typeof value === "object" &&
    value !== null &&
    ["name", "tasks", "start", "limits", "format", "roles"].every((field) => field in value)
  );
}
