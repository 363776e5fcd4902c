import type { z } from "zod";
import { defined } from "../../defined.ts";
import { errorText, LudusError } from "../../errors.ts";
import { type KnownOptions, refuseUnknownOptions } from "../../known-options.ts";
import { commandLimits } from "./limits.ts";
import { remoteContent, remoteEnded, remoteError, remoteId, remoteInfo } from "./remote-protocol.ts";
import { requireLevel } from "./require-level.ts";
import type { Box, BoxSpec, Ended, ExecOptions, Image, Sandbox, SandboxLevel } from "./sandbox.ts";

export interface RemoteSandboxOptions {
  /** Where `ludus boxes serve` listens. */
  url: string;
  /** The key that it printed. */
  token: string;
  /** What its boxes are at least; `namespace` by default. Opening fails where the server's are weaker. */
  level?: SandboxLevel;
}

const knownRemoteSandboxOptions: KnownOptions<RemoteSandboxOptions> = { url: true, token: true, level: true };

/** Boxes of another machine, on which `ludus boxes serve` runs. Plain HTTP: put TLS before it on networks you do not trust. */
export function remoteSandbox(options: RemoteSandboxOptions): Sandbox {
  refuseUnknownOptions("remoteSandbox", options, knownRemoteSandboxOptions);
  const { url, token, level = "namespace" } = options;
  const name = "remote";
  const ask: Ask = (method, path, schema, body, signal) => request({ url, token }, method, path, schema, body, signal);
  return {
    name,
    level,
    async open(spec = {}, signal) {
      requireLevel({ name, level }, spec.atLeast);
      commandLimits(spec.limits);
      signal?.throwIfAborted();
      const image = imageId(spec.image);
      requireLevel(await ask("GET", "/", remoteInfo, undefined, signal), level);
      const { id } = await ask("POST", "/boxes", remoteId, toSpec(spec, image), signal);
      const box = new RemoteBox(ask, id);
      if (signal?.aborted) {
        await box.close();
        throw signal.reason;
      }
      return box;
    },
  };
}

type Ask = <Schema extends z.ZodType>(
  method: string,
  path: string,
  schema: Schema,
  body?: object,
  signal?: AbortSignal,
) => Promise<z.infer<Schema>>;

const toBase64 = (content: string | Uint8Array) => Buffer.from(content).toString("base64");

function toSpec({ files, env, limits }: BoxSpec, image: string | undefined): object {
  const encoded = Object.fromEntries(Object.entries(files ?? {}).map(([path, content]) => [path, toBase64(content)]));
  return { files: encoded, ...defined({ env, limits, image }) };
}

class RemoteBox implements Box {
  readonly #ask: Ask;
  readonly #at: string;
  #closed: Promise<void> | undefined;

  constructor(ask: Ask, id: string) {
    this.#ask = ask;
    this.#at = `/boxes/${encodeURIComponent(id)}`;
  }

  async exec(command: string, { input, signal, args, cwd, env, limits }: ExecOptions = {}): Promise<Ended> {
    this.#checkOpen();
    commandLimits(limits);
    const given = input === undefined ? undefined : toBase64(input);
    try {
      signal?.throwIfAborted();
      const body = { command, ...defined({ args, cwd, env, limits, input: given }) };
      const { signal: ending, ...ended } = {
        signal: undefined,
        ...(await this.#ask("POST", `${this.#at}/exec`, remoteEnded, body, signal)),
      };
      return { ...ended, ...(ending !== undefined && { signal: ending }) } as Ended;
    } catch (error) {
      if (signal?.aborted) return { kind: "cancelled", stdout: "", stderr: "", notApplied: [] };
      throw error;
    }
  }

  async read(path: string): Promise<Uint8Array> {
    this.#checkOpen();
    const { content } = await this.#ask("POST", `${this.#at}/read`, remoteContent, { path });
    return new Uint8Array(Buffer.from(content, "base64"));
  }

  async write(path: string, content: string | Uint8Array): Promise<void> {
    this.#checkOpen();
    await this.#ask("POST", `${this.#at}/write`, remoteId, { path, content: toBase64(content) });
  }

  async snapshot(): Promise<Image> {
    this.#checkOpen();
    const { id } = await this.#ask("POST", `${this.#at}/snapshot`, remoteId);
    return new RemoteImage(this.#ask, id);
  }

  close(): Promise<void> {
    this.#closed ??= this.#ask("DELETE", this.#at, remoteId).then(() => {});
    return this.#closed;
  }

  #checkOpen(): void {
    if (this.#closed === undefined) return;
    throw new LudusError("box-closed", { got: "a call", expected: "an open box", hint: "Open another one." });
  }
}

class RemoteImage implements Image {
  readonly sandbox = "remote";
  readonly id: string;
  readonly #ask: Ask;

  constructor(ask: Ask, id: string) {
    this.#ask = ask;
    this.id = id;
  }

  async remove(): Promise<void> {
    await this.#ask("DELETE", `/images/${encodeURIComponent(this.id)}`, remoteId);
  }
}

function imageId(image: Image | undefined): string | undefined {
  if (image === undefined || image instanceof RemoteImage) return image?.id;
  throw new LudusError("image-of-another-sandbox", {
    got: `image ${image.id} of sandbox "${image.sandbox}"`,
    expected: `an image that sandbox "remote" made in this program`,
  });
}

async function request<Schema extends z.ZodType>(
  { url, token }: { url: string; token: string },
  method: string,
  path: string,
  schema: Schema,
  body: object | undefined,
  signal: AbortSignal | undefined,
): Promise<z.infer<Schema>> {
  const headers = { authorization: `Bearer ${token}`, "content-type": "application/json" };
  const sent = { method, headers, ...defined({ body: body && JSON.stringify(body), signal }) };
  const response = await fetch(`${url.replace(/\/$/, "")}${path}`, sent).catch((cause: unknown) => {
    if (signal?.aborted) throw signal.reason;
    throw unreachable(url, errorText(cause), cause);
  });
  const answer: unknown = await response.json().catch(() => undefined);
  const refusal = remoteError.safeParse(answer);
  if (refusal.success) throw new RemoteRefusal(refusal.data.error.code, refusal.data.error.message);
  const read = schema.safeParse(answer);
  if (response.ok && read.success) return read.data;
  throw unreachable(url, `status ${response.status} and no answer that can be read`);
}

/** What the server refused, with its own words. */
class RemoteRefusal extends LudusError {
  constructor(code: string, message: string) {
    super(code, { got: "a refusal", expected: "a box that takes it" });
    this.message = message;
  }
}

function unreachable(url: string, got: string, cause?: unknown): LudusError {
  return new LudusError("boxes-unreachable", {
    got: `${got} from ${url}`,
    expected: "a server of boxes",
    hint: "Start it with `ludus boxes serve`.",
    cause,
  });
}
