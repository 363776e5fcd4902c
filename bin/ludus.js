#!/usr/bin/env node
// `ludus`. In the repository it runs the sources, so that it is never behind them, and files that import "ludus" get those
// sources too; in a published package there is only dist.
import { existsSync } from "node:fs";

const [major = 0, minor = 0] = process.versions.node.split(".").map(Number);
if (major < 22 || (major === 22 && minor < 18)) {
  console.error(
    `old-node: got Node ${process.versions.node}, expected 22.18 or newer. Install a newer one from nodejs.org.`,
  );
  process.exit(1);
}

const sources = new URL("../src/", import.meta.url);
if (existsSync(sources)) {
  const { registerHooks } = await import("node:module");
  const { exports: entries } = (await import("../package.json", { with: { type: "json" } })).default;
  registerHooks({
    resolve(specifier, context, next) {
      const entry = /^ludus(?=$|\/)/.test(specifier) ? entries[specifier.replace("ludus", ".")] : undefined;
      if (entry?.default === undefined) return next(specifier, context);
      const source = entry.default.replace("./dist/", "").replace(/\.js$/, ".ts");
      return { url: new URL(source, sources).href, shortCircuit: true };
    },
  });
  await import(new URL("cli/main.ts", sources).href);
} else {
  await import("../dist/cli/main.js");
}
