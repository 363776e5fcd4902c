import { bounds } from "../bounds.ts";

/** A code of JSON-RPC, of those that are left to implementations: the answer was dropped on its way. */
export const answerTooLarge = -32098;
/** The same for an answer whose stream ended without it. */
export const answerLost = -32097;

const mebibytes = bounds.mcpAnswerBytes / 2 ** 20;

export class AnswerTooLarge extends Error {
  readonly code = answerTooLarge;

  constructor() {
    super(`the answer is larger than ${mebibytes} MiB`);
  }
}

type MessageId = string | number;

const errorMessage = (id: MessageId, code: number, message: string) => ({
  jsonrpc: "2.0" as const,
  id,
  error: { code, message },
});

const lineEnd = 0x0a;
/** What is kept of either end of a line that is too long: enough to see whose answer it is. */
const endBytes = 256;

/**
 * Messages of a server's standard output, a line each. A line that is too long is not kept: whoever asked is told so in its
 * place, and the lines after it are read as before.
 */
export class MessageLines {
  readonly #parse: (line: string) => unknown;
  #chunks: Buffer[] = [];
  #bytes = 0;
  #head: Buffer | undefined;
  #tail: Buffer = Buffer.alloc(0);
  readonly #ready: Buffer[] = [];

  constructor(parse: (line: string) => unknown) {
    this.#parse = parse;
  }

  append(chunk: Buffer): void {
    let start = 0;
    for (let end = chunk.indexOf(lineEnd); end !== -1; end = chunk.indexOf(lineEnd, start)) {
      this.#add(chunk.subarray(start, end));
      this.#ready.push(this.#endLine());
      start = end + 1;
    }
    this.#add(chunk.subarray(start));
  }

  /** The next message, or null where none is whole. */
  readMessage(): unknown {
    const line = this.#ready.shift();
    return line === undefined ? null : this.#parse(line.toString("utf8").replace(/\r$/, ""));
  }

  clear(): void {
    this.#chunks = [];
    this.#bytes = 0;
    this.#head = undefined;
    this.#ready.length = 0;
  }

  #add(bytes: Buffer): void {
    this.#bytes += bytes.length;
    if (this.#head !== undefined) {
      this.#tail = Buffer.concat([this.#tail, bytes.subarray(-endBytes)]).subarray(-endBytes);
    } else if (this.#bytes <= bounds.mcpAnswerBytes) {
      if (bytes.length > 0) this.#chunks.push(bytes);
    } else {
      const line = Buffer.concat([...this.#chunks, bytes]);
      this.#head = Buffer.from(line.subarray(0, endBytes));
      this.#tail = Buffer.from(line.subarray(-endBytes));
      this.#chunks = [];
    }
  }

  #endLine(): Buffer {
    const line = this.#head === undefined ? Buffer.concat(this.#chunks) : this.#refusal(this.#head);
    this.#chunks = [];
    this.#bytes = 0;
    this.#head = undefined;
    return line;
  }

  /** An answer that says why there is none. Of a line that does not say whose it was, nothing: its call runs out of time. */
  #refusal(head: Buffer): Buffer {
    const id = ownId(head.toString("latin1"), this.#tail.toString("latin1"));
    if (id === undefined) return Buffer.from(`a line of ${this.#bytes} bytes that names no request`);
    return Buffer.from(JSON.stringify(errorMessage(id, answerTooLarge, new AnswerTooLarge().message)));
  }
}

const idFirst = /^\s*\{\s*(?:"jsonrpc"\s*:\s*"2\.0"\s*,\s*)?"id"\s*:\s*(\d{1,15})\s*,/;
// one brace: the object that ends here is the message itself and not a part of it
const idLast = /"id"\s*:\s*(\d{1,15})\s*(?:,\s*"jsonrpc"\s*:\s*"2\.0"\s*)?\}\s*$/;

function ownId(head: string, tail: string): number | undefined {
  const found = idFirst.exec(head) ?? idLast.exec(tail);
  return found === null ? undefined : Number(found[1]);
}

type Fetch = (url: string | URL, init?: RequestInit) => Promise<Response>;

/**
 * `fetch` for a server that may send without end: bodies are bounded, and a request that the client calls off is no longer
 * read. There is no stream besides those of requests, unless somebody answers what the server asks (`isAsked`): nothing else
 * that it says unasked is used. A stream that a server ends early, to be asked again for the rest, is.
 */
export function boundedFetch({ isAsked }: { isAsked: boolean }): Fetch {
  const reading = new Map<MessageId, AbortController>();
  // by the last event of a stream that ended without the answer: whose answer it was
  const unanswered = new Map<string, MessageId>();

  /** The answer to `id`, of a request or of the rest of its stream. */
  async function open(id: MessageId, url: string | URL, init: RequestInit): Promise<Response> {
    const own = new AbortController();
    reading.set(id, own);
    const signal = init.signal ? AbortSignal.any([init.signal, own.signal]) : own.signal;
    const done = (lastEvent?: string) => {
      if (lastEvent !== undefined) unanswered.set(lastEvent, id);
      // most were answered before their stream ended, which is not known here
      if (unanswered.size > maxUnanswered) unanswered.delete(unanswered.keys().next().value ?? "");
      if (reading.get(id) === own) reading.delete(id);
    };
    try {
      const response = await fetchOwn(url, { ...init, signal });
      const answered = isStream(response) ? id : undefined;
      const body = response.body === null ? null : boundedBody(response.body, answered, done);
      if (body === null) done();
      return new Response(body, response);
    } catch (error) {
      done();
      throw error;
    }
  }

  async function resume(id: MessageId, url: string | URL, init: RequestInit): Promise<Response> {
    const response = await open(id, url, init).catch((error: unknown) => new Response(String(error), { status: 502 }));
    if (response.ok && isStream(response)) return response;
    // nobody else would tell the caller
    const why = `the server ended the stream and did not send the rest (${response.status})`;
    return new Response(asEvent(errorMessage(id, answerLost, why)), {
      headers: { "content-type": "text/event-stream" },
    });
  }

  return async (url, init = {}) => {
    if (init.method === "GET") {
      const lastEvent = new Headers(init.headers).get("last-event-id") ?? "";
      const id = unanswered.get(lastEvent);
      unanswered.delete(lastEvent);
      if (id !== undefined) return resume(id, url, init);
      return isAsked ? ownStream(await fetchOwn(url, init)) : noStream();
    }
    const { id, cancelled } = messageOf(init.body);
    if (cancelled !== undefined) reading.get(cancelled)?.abort(new DOMException("called off", "AbortError"));
    return id === undefined ? fetchOwn(url, init) : open(id, url, init);
  };
}

const maxUnanswered = 1_000;
const maxRedirects = 5;

/** `fetch` that stays with the host it was given: a redirect to another would take the headers there, and keys are in them. */
async function fetchOwn(url: string | URL, init: RequestInit): Promise<Response> {
  const { origin } = new URL(url);
  for (let [at, left] = [new URL(url), maxRedirects]; ; left--) {
    const response = await fetch(at, { ...init, redirect: "manual" });
    const location = response.headers.get("location");
    // other codes turn a message into a question for a page
    const isMoved =
      [307, 308].includes(response.status) || (init.method === "GET" && [301, 302].includes(response.status));
    if (!isMoved || location === null) return response;
    await response.body?.cancel();
    at = new URL(location, at);
    if (at.origin !== origin) throw new Error(`${origin} sends to ${at.origin}, another host: give its address`);
    if (left === 0) throw new Error(`${origin} redirects more than ${maxRedirects} times`);
  }
}

const isStream = ({ headers }: Response) => /^text\/event-stream\b/i.test(headers.get("content-type") ?? "");

const asEvent = (message: object) => `\n\nevent: message\ndata: ${JSON.stringify(message)}\n\n`;

/** How a server says that it has no such stream. */
const noStream = () => new Response(null, { status: 405 });

const ownStream = (response: Response) =>
  response.body === null
    ? response
    : new Response(
        boundedBody(response.body, undefined, () => {}),
        response,
      );

function messageOf(body: unknown): { id?: MessageId; cancelled?: MessageId } {
  const message: unknown = typeof body === "string" ? JSON.parse(body) : undefined;
  if (typeof message !== "object" || message === null) return {};
  const { id, method, params } = message as { id?: MessageId; method?: string; params?: { requestId?: MessageId } };
  if (method === "notifications/cancelled" && params?.requestId !== undefined) return { cancelled: params.requestId };
  return id === undefined || method === undefined ? {} : { id };
}

/**
 * Where a stream of events ends without the answer to `id`, an error stands in its place, unless its events are numbered: then
 * the client asks for the rest, and `done` is told the last number.
 */
function boundedBody(
  body: ReadableStream<Uint8Array>,
  id: MessageId | undefined,
  done: (lastEvent?: string) => void,
): ReadableStream<Uint8Array> {
  const reader = body.getReader();
  const events = new EventIds();
  let bytes = 0;
  const end = (controller: ReadableStreamDefaultController<Uint8Array>, error: Error, code: number) => {
    done();
    if (id === undefined) return controller.error(error);
    controller.enqueue(new TextEncoder().encode(asEvent(errorMessage(id, code, error.message))));
    controller.close();
  };
  return new ReadableStream({
    async pull(controller) {
      try {
        const { done: isOver, value } = await reader.read();
        bytes += value?.length ?? 0;
        if (bytes > bounds.mcpAnswerBytes) {
          reader.cancel().catch(() => {});
          end(controller, new AnswerTooLarge(), answerTooLarge);
        } else if (value !== undefined) {
          if (id !== undefined) events.read(value);
          controller.enqueue(value);
        } else if (isOver && (id === undefined || events.last !== undefined)) {
          done(events.last);
          controller.close();
        } else end(controller, new Error("the stream ended without an answer"), answerLost);
      } catch (error) {
        const cause = error instanceof Error ? error : new Error(String(error));
        end(controller, new Error(`the connection was lost (${cause.message})`, { cause }), answerLost);
      }
    },
    async cancel(reason) {
      done();
      await reader.cancel(reason);
    },
  });
}

/** The number of the last event of a stream, where it has any. */
class EventIds {
  last: string | undefined;
  readonly #decoder = new TextDecoder();
  #line = "";

  read(chunk: Uint8Array): void {
    const lines = (this.#line + this.#decoder.decode(chunk, { stream: true })).split(/\r?\n|\r/);
    // numbers are short; of a long line, such as an answer, only the beginning matters
    this.#line = (lines.pop() ?? "").slice(0, maxEventIdChars);
    for (const line of lines) {
      const id = line.length <= maxEventIdChars ? /^id: ?(.+)$/.exec(line)?.[1] : undefined;
      if (id !== undefined) this.last = id;
    }
  }
}

const maxEventIdChars = 1_024;
