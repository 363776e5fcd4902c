import { existsSync } from "node:fs";
import { resolve } from "node:path";
import { defined } from "../defined.ts";
import type { Env } from "../env/env.ts";
import { type ShippedOptions, shippedEnvs } from "../env/environments/index.ts";
import { LudusError } from "../errors.ts";
import { nearest } from "../nearest.ts";
import type { World } from "../rollout/world.ts";
import { loadModule } from "./load-module.ts";
import { usageError } from "./parse-options.ts";

/**
 * A shipped environment by its name, or what a module exports as `env`, or the one of its `config`; not an agent, which nobody can
 * play by hand.
 */
export async function loadEnv(nameOrFile: string | undefined, options: ShippedOptions = {}): Promise<Env> {
  const world = await loadWorld(nameOrFile, options);
  if (isEnv(world)) return world;
  throw usageError("not-an-env", {
    got: `${world.name}, which plays its episodes itself`,
    expected: "an environment made by defineEnv",
    hint: `To check it: ludus env check ${nameOrFile}.`,
  });
}

/** The same, or a world of `agentEnv`. */
export async function loadWorld(nameOrFile: string | undefined, options: ShippedOptions = {}): Promise<Env | World> {
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

async function loadFile(file: string, { style }: ShippedOptions): Promise<Env | World> {
  if (!existsSync(resolve(file)))
    throw usageError("no-env-file", { got: `"${file}"`, expected: `a file at ${resolve(file)}` });
  if (style !== undefined) {
    throw usageError("bad-option", { got: `--style ${style}`, expected: "an environment that comes with ludus" });
  }
  const exported = await loadModule(file);
  if (isEnv(exported.env) || isWorld(exported.env)) return exported.env;
  const config: unknown = typeof exported.config === "function" ? await exported.config() : exported.config;
  const own = typeof config === "object" && config !== null && "env" in config ? config.env : undefined;
  if (isEnv(own) || isWorld(own)) return own;
  throw new LudusError("no-env-in-file", {
    got: `${file} with ${Object.keys(exported).join(", ") || "no exports"}`,
    expected: "an environment, exported as `env`, or a `config` with one",
    hint: "export const env = defineEnv({ … }); or agentEnv({ … });",
  });
}

export function isEnv(value: unknown): value is Env {
  return hasFields(value, ["name", "tasks", "start", "limits", "format", "roles"]);
}

export function isWorld(value: unknown): value is World {
  return hasFields(value, ["name", "tasks", "attempt", "limits", "format", "roles"]);
}

function hasFields(value: unknown, fields: readonly string[]): boolean {
  return typeof value === "object" && value !== null && fields.every((field) => field in value);
}
