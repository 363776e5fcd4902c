/** What the fake server answers: a value is sent as JSON, a `Response` as it is, an `Error` is a connection that breaks. */
export type Reply = unknown | ((request: FakeRequest) => unknown);

export interface FakeRequest {
  readonly path: string;
  readonly query: URLSearchParams;
  /** The parsed JSON of a POST. */
  readonly body: unknown;
}

export interface FakeServer {
  /** All requests so far, as `path?query`. */
  readonly requests: string[];
  /** Bodies of POST requests, in order. */
  readonly posted: unknown[];
  /** Adds or replaces replies. */
  reply(replies: Readonly<Record<string, Reply>>): void;
}

/** Answers `fetch("/api…")` by path; anything else is 404 as the real server says it. */
export function fakeServer(replies: Readonly<Record<string, Reply>>): FakeServer {
  const known = new Map(Object.entries(replies));
  const requests: string[] = [];
  const posted: unknown[] = [];
  globalThis.fetch = async (input, init) => {
    const url = new URL(String(input), "http://dashboard.test");
    const path = url.pathname.slice("/api".length);
    requests.push(`${path}${url.search}`);
    const body: unknown = typeof init?.body === "string" ? JSON.parse(init.body) : undefined;
    if (body !== undefined) posted.push(body);
    const found = known.get(path);
    const reply = typeof found === "function" ? found({ path, query: url.searchParams, body }) : found;
    if (reply instanceof Error) throw reply;
    if (reply instanceof Response) return reply.clone();
    return reply === undefined ? problem(404, "not-found", `There is nothing at ${path}.`) : Response.json(reply);
  };
  return {
    requests,
    posted,
    reply(more) {
      for (const [path, reply] of Object.entries(more)) known.set(path, reply);
    },
  };
}

export function problem(status: number, code: string, message: string): Response {
  return Response.json({ error: { code, message } }, { status });
}
