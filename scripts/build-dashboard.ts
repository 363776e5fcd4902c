// Builds the dashboard's page into dist/dashboard, or into the folder that is named.

import { join, resolve } from "node:path";
import { build } from "vite";

const root = join(import.meta.dirname, "..");
const outDir = resolve(process.argv[2] ?? join(root, "dist/dashboard"));

// else whoever has set another gets React's code for developers
process.env.NODE_ENV = "production";

// no configuration file: this is all of it
await build({
  root: join(root, "dashboard"),
  configFile: false,
  logLevel: "warn",
  build: {
    outDir,
    emptyOutDir: true,
    target: "es2023",
    // the page's policy allows files only
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
  },
});
