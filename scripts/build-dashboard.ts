// Builds the dashboard's page into dist/dashboard, or into the folder that is named.

import { join, resolve } from "node:path";
import { build } from "vite";

const root = join(import.meta.dirname, "../dashboard");

/** No configuration file: this is all of it. */
export async function buildDashboard(outDir: string): Promise<void> {
  await build({
    ...{ root, configFile: false, logLevel: "warn" },
    build: {
      ...{ outDir: resolve(outDir), emptyOutDir: true, target: "es2023", sourcemap: false },
      // the page forbids what it has not loaded as a file
      ...{ assetsInlineLimit: 0, modulePreload: { polyfill: false } },
    },
    define: { "process.env.NODE_ENV": JSON.stringify("production") },
  });
}

if (import.meta.main) await buildDashboard(process.argv[2] ?? join(import.meta.dirname, "../dist/dashboard"));
