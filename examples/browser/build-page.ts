import { execFileSync } from "node:child_process";
import { rmSync } from "node:fs";
import { join } from "node:path";
import { build } from "vite";

const here = import.meta.dirname;

/** Puts the page, and the last checkpoint of a run as ONNX, into a folder that any web server can serve. */
export async function buildPage(run: string, outDir: string): Promise<void> {
  const standIn = (name: string) => join(here, "page/stand-ins", name);
  await build({
    ...{ root: join(here, "page"), base: "./", configFile: false, logLevel: "warn" },
    build: {
      ...{ outDir, emptyOutDir: true, target: "es2023", modulePreload: { polyfill: false } },
      // the agent loop can do more than a page: what would need Node or a process of its own is never called
      rolldownOptions: {
        ...{ shimMissingExports: true, checks: { pluginTimings: false } },
        onwarn: (warning, warn) => warning.code === "SHIMMED_EXPORT" || warn(warning),
      },
    },
    resolve: {
      alias: [
        { find: "node:util", replacement: standIn("util.ts") },
        { find: /.*\/stray-rejections\.ts$/, replacement: standIn("stray-rejections.ts") },
        { find: /^node:.*|.*\/(run-isolated|default-sandbox)\.ts$/, replacement: standIn("nothing.ts") },
      ],
    },
  });
  const agent = join(outDir, "agent");
  rmSync(agent, { recursive: true, force: true });
  const ludus = join(here, "../../src/cli/main.ts");
  execFileSync(process.execPath, [ludus, "export", run, "--format", "onnx", "--out", agent, "--quiet"]);
}
