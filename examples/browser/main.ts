/**
 * The quickstart's agent in the browser: its last checkpoint is written as ONNX, and a page of static files runs it with
 * onnxruntime-web. The page holds the world, its search tool and the agent loop too; nothing is asked of a server but files.
 *
 *     npm start -- --run runs/search                           # trains the agent, about a minute on two cores
 *     npx node examples/browser/main.ts runs/search            # builds the page and serves it on this machine
 *     npx node examples/browser/main.ts runs/search --out site # only writes the folder, for any web server
 */
import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { parseArgs } from "node:util";
import { sqliteRuns } from "../../src/store/index.ts";
import { buildPage } from "./build-page.ts";
import { serveFolder } from "./serve-folder.ts";

const { values: options, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    out: { type: "string" },
    port: { type: "string", default: "0" },
    help: { type: "boolean", default: false },
  },
});
if (options.help) {
  console.log(`Builds a page that plays the quickstart's agent in the browser.

  <run>         a run of the quickstart: npm start -- --run runs/search
  --out <dir>   write the page there and end
  --port <n>    where to serve it; any that is free by default

Example: npx node examples/browser/main.ts runs/search --out site`);
  process.exit(0);
}
const [run = "runs/search"] = positionals;
if ((await sqliteRuns().info(run)) === undefined) {
  console.error(`${run}: no run is there. Train the agent first: npm start -- --run ${run}`);
  process.exit(2);
}

const out = resolve(options.out ?? join(mkdtempSync(join(tmpdir(), "ludus-browser-")), "page"));
await buildPage(run, out);
if (options.out === undefined) {
  const { url } = await serveFolder(out, Number(options.port));
  console.log(`${url} plays it. Ctrl-C ends.`);
} else console.log(`The page is in ${out}: any web server can serve it, for example npx serve ${out}`);
