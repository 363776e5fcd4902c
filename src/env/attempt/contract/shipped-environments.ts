import { globSync, readFileSync } from "node:fs";
import { basename, join } from "node:path";
import type { Env } from "../../env.ts";

const folder = join(import.meta.dirname, "../../environments");

/** Every environment of the folder in both styles, where it has them, found by their files: a new one is among them at once. */
export async function shippedEnvironments(): Promise<[name: string, env: Env][]> {
  const files = globSync(join(folder, "*.ts")).sort();
  const makers = files.filter(
    (file) => !file.endsWith(".test.ts") && /\bdefineEnv[<(]/.test(readFileSync(file, "utf8")),
  );
  const made = makers.map(async (file): Promise<[string, Env][]> => {
    const name = basename(file, ".ts").replace(/-(.)/g, (_, letter: string) => letter.toUpperCase());
    const { [name]: make }: Record<string, unknown> = await import(file);
    if (typeof make !== "function") throw new TypeError(`${file} does not export ${name}`);
    const hasStyles = /\bstyle: true\b/.test(readFileSync(file, "utf8"));
    if (!hasStyles) return [[name, make()]];
    return ["compact", "tags"].map((style) => [`${name} (${style})`, make({ style })]);
  });
  return (await Promise.all(made)).flat();
}
