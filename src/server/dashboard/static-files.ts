import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { Handler } from "hono";

const types: Readonly<Record<string, string>> = {
  html: "text/html; charset=utf-8",
  js: "text/javascript; charset=utf-8",
  css: "text/css; charset=utf-8",
  svg: "image/svg+xml",
};

const notBuilt = `<!doctype html><meta charset="utf-8"><title>Ludus</title>
<p>The dashboard's page is not built yet. Run <code>npm run build</code>, then load this again.</p>`;

/** The built page. Every path that is no file is the page itself, which finds its way by the address. */
export function staticFiles(directory: string): Handler {
  return (context) => {
    const name = /^\/assets\/([\w.-]+)$/.exec(context.req.path)?.[1];
    const kept = { "cache-control": "public, max-age=31536000, immutable" };
    if (name !== undefined) {
      const file = read(join(directory, "assets", name));
      return file === undefined ? context.notFound() : context.body(file, 200, { ...typeOf(name), ...kept });
    }
    if (context.req.path === "/favicon.svg") {
      const icon = read(join(directory, "favicon.svg"));
      return icon === undefined ? context.notFound() : context.body(icon, 200, typeOf("favicon.svg"));
    }
    const page = read(join(directory, "index.html"));
    const headers = { ...typeOf("index.html"), "cache-control": "no-cache" };
    return page === undefined ? context.body(notBuilt, 503, headers) : context.body(page, 200, headers);
  };
}

function typeOf(name: string): Record<string, string> {
  return { "content-type": types[name.split(".").at(-1) ?? ""] ?? "application/octet-stream" };
}

function read(path: string): Uint8Array<ArrayBuffer> | undefined {
  try {
    return new Uint8Array(readFileSync(path));
  } catch {
    return undefined;
  }
}
