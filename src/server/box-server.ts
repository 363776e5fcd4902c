import { createHash, randomBytes, randomUUID, timingSafeEqual } from "node:crypto";
import { type Context, Hono } from "hono";
import type { z } from "zod";
import { defined } from "../defined.ts";
import { errorText, LudusError } from "../errors.ts";
import { type KnownOptions, refuseUnknownOptions } from "../known-options.ts";
import { defaultSandbox } from "../tool/sandbox/default-sandbox.ts";
import { remoteExec, remotePath, remoteSpec, remoteWrite } from "../tool/sandbox/remote-protocol.ts";
import { requireLevel, sandboxInfo } from "../tool/sandbox/require-level.ts";
import type { Box, Image, Sandbox } from "../tool/sandbox/sandbox.ts";
import { listen } from "./listen.ts";
import { readJson } from "./read-json.ts";

export interface BoxServerOptions {
  /** Where boxes are opened; `bubblewrapSandbox()` by default. */
  sandbox?: Sandbox;
  host?: string;
  port?: number;
  /** What clients must send; one is made by default. */
  token?: string;
  /** A box that nobody has asked for so long is closed: its client may be gone. 10 minutes by default. */
  idleMs?: number;
  /** How many boxes are open at once, at most; 1000 by default. */
  maxBoxes?: number;
}

const knownBoxServerOptions: KnownOptions<BoxServerOptions> = {
  sandbox: true,
  host: true,
  port: true,
  token: true,
  idleMs: true,
  maxBoxes: true,
};

export interface BoxServer {
  readonly url: string;
  readonly token: string;
  /** Closes all boxes and removes all images. */
  close(): Promise<void>;
}

interface Entry {
  readonly box: Box;
  timer: NodeJS.Timeout;
  running: number;
}

/** Gives boxes of this machine to clients with the token: the other half of `remoteSandbox`. */
export async function serveBoxes(options: BoxServerOptions = {}): Promise<BoxServer> {
  refuseUnknownOptions("serveBoxes", options, knownBoxServerOptions);
  const { sandbox = defaultSandbox(), host = "127.0.0.1", port = 0, idleMs = 600_000, maxBoxes = 1_000 } = options;
  const token = options.token ?? randomBytes(24).toString("base64url");
  const table = new BoxTable(sandbox, idleMs, maxBoxes);
  const app = new Hono();
  app.use(async (context, next) => {
    if (isSame(context.req.header("authorization") ?? "", `Bearer ${token}`)) await next();
    else return refusal(context, 401, "wrong-token", "wrong-token: got another one, expected that of the server");
  });
  app.onError((error, context) => {
    const code = error instanceof LudusError ? error.code : "box-failed";
    return refusal(context, error instanceof LudusError ? 400 : 500, code, errorText(error));
  });
  app.notFound((context) => refusal(context, 404, "bad-request", "bad-request: no such path"));
  app.get("/", (context) => context.json(sandboxInfo(sandbox)));
  addRoutes(app, table);
  const server = await listen(app, host, port);
  return {
    url: server.url,
    token,
    async close() {
      await server.close();
      await table.closeAll();
    },
  };
}

/** Boxes and images that clients have asked for. */
class BoxTable {
  readonly #sandbox: Sandbox;
  readonly #idleMs: number;
  readonly #maxBoxes: number;
  readonly #boxes = new Map<string, Entry>();
  readonly #images = new Map<string, Image>();

  constructor(sandbox: Sandbox, idleMs: number, maxBoxes: number) {
    this.#sandbox = sandbox;
    this.#idleMs = idleMs;
    this.#maxBoxes = maxBoxes;
  }

  async open(spec: z.infer<typeof remoteSpec>, signal: AbortSignal): Promise<string> {
    const { files = {}, env, limits, atLeast } = spec;
    requireLevel(this.#sandbox, atLeast);
    if (this.#boxes.size >= this.#maxBoxes) {
      const expected = `fewer than ${this.#maxBoxes}`;
      throw new LudusError("too-many-boxes", { got: `${this.#boxes.size} open boxes`, expected });
    }
    const image = spec.image === undefined ? undefined : this.#images.get(spec.image);
    if (spec.image !== undefined && image === undefined) {
      throw new LudusError("image-removed", { got: `image ${spec.image}`, expected: "one that was not removed" });
    }
    const decoded = Object.fromEntries(
      Object.entries(files).map(([path, text]) => [path, Buffer.from(text, "base64")]),
    );
    const box = await this.#sandbox.open({ files: decoded, ...defined({ env, limits, image }) }, signal);
    const id = randomUUID();
    const timer = setTimeout(() => this.#onIdle(id), this.#idleMs).unref();
    this.#boxes.set(id, { box, running: 0, timer });
    if (signal.aborted) await this.close(id); // its client left, and will never ask for it
    return id;
  }

  async use<Value>(id: string, call: (box: Box) => Promise<Value>): Promise<Value> {
    const entry = this.#boxes.get(id);
    if (entry === undefined) throw new LudusError("box-closed", { got: `box ${id}`, expected: "an open box" });
    entry.running += 1;
    try {
      return await call(entry.box);
    } finally {
      entry.running -= 1;
      entry.timer.refresh();
    }
  }

  #onIdle(id: string): void {
    const entry = this.#boxes.get(id);
    if (entry !== undefined && entry.running > 0) entry.timer.refresh();
    else this.close(id).catch(() => {}); // there is nobody to tell
  }

  async close(id: string): Promise<void> {
    const entry = this.#boxes.get(id);
    this.#boxes.delete(id);
    clearTimeout(entry?.timer);
    await entry?.box.close();
  }

  async snapshot(id: string): Promise<string> {
    const image = await this.use(id, (box) => box.snapshot());
    this.#images.set(image.id, image);
    return image.id;
  }

  async removeImage(id: string): Promise<void> {
    const image = this.#images.get(id);
    this.#images.delete(id);
    await image?.remove();
  }

  async closeAll(): Promise<void> {
    await Promise.all([...this.#boxes.keys()].map((id) => this.close(id)));
    await Promise.all([...this.#images.keys()].map((id) => this.removeImage(id)));
  }
}

function addRoutes(app: Hono, table: BoxTable): void {
  app.post("/boxes", async (context) => {
    const spec = await body(context, remoteSpec);
    return context.json({ id: await table.open(spec, context.req.raw.signal) });
  });
  app.post("/boxes/:id/exec", async (context) => {
    const { command, args, cwd, env, limits, input } = await body(context, remoteExec);
    const given = input === undefined ? undefined : Buffer.from(input, "base64");
    const options = { ...defined({ args, cwd, env, limits, input: given }), signal: context.req.raw.signal };
    return context.json(await table.use(context.req.param("id"), (box) => box.exec(command, options)));
  });
  app.post("/boxes/:id/read", async (context) => {
    const { path } = await body(context, remotePath);
    const content = await table.use(context.req.param("id"), (box) => box.read(path));
    return context.json({ content: Buffer.from(content).toString("base64") });
  });
  app.post("/boxes/:id/write", async (context) => {
    const { path, content } = await body(context, remoteWrite);
    await table.use(context.req.param("id"), (box) => box.write(path, Buffer.from(content, "base64")));
    return context.json({ id: context.req.param("id") });
  });
  app.post("/boxes/:id/snapshot", async (context) =>
    context.json({ id: await table.snapshot(context.req.param("id")) }),
  );
  app.delete("/boxes/:id", async (context) => {
    await table.close(context.req.param("id"));
    return context.json({ id: context.req.param("id") });
  });
  app.delete("/images/:id", async (context) => {
    await table.removeImage(context.req.param("id"));
    return context.json({ id: context.req.param("id") });
  });
}

async function body<Schema extends z.ZodType>(context: Context, schema: Schema): Promise<z.infer<Schema>> {
  const read = schema.safeParse(await readJson(context));
  if (read.success) return read.data;
  throw new LudusError("bad-request", { got: read.error.message.slice(0, 300), expected: "what remoteSandbox sends" });
}

function refusal(context: Context, status: 400 | 401 | 404 | 500, code: string, message: string): Response {
  return context.json({ error: { code, message } }, status);
}

/** In the same time for every wrong key. */
function isSame(given: string, wanted: string): boolean {
  const digest = (text: string) => createHash("sha256").update(text).digest();
  return timingSafeEqual(digest(given), digest(wanted));
}
