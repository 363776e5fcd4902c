import { createServer, type IncomingMessage } from "node:http";

export interface FakeRequest {
  readonly model: string;
  readonly messages: readonly { readonly role: string; readonly content: string }[];
  readonly seed: number;
  readonly temperature: number;
  readonly response_format?: { readonly type: string };
}

/** A reply's text, or a whole response, or silence. */
export type FakeReply =
  | string
  | { readonly cutOff: string }
  | { readonly status: number; readonly headers?: Record<string, string>; readonly body?: string }
  | "hang";

export interface FakeJudge {
  readonly endpoint: string;
  readonly requests: FakeRequest[];
  readonly headers: IncomingMessage["headers"][];
  close(): Promise<void>;
}

/** A chat-completions server on loopback that answers as told; `count` is how many requests came before. */
export async function startFakeJudge(
  reply: (request: FakeRequest, count: number) => FakeReply | Promise<FakeReply>,
  tokensPerCall = 10,
): Promise<FakeJudge> {
  const requests: FakeRequest[] = [];
  const headers: IncomingMessage["headers"][] = [];
  const server = createServer(async (incoming, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of incoming) chunks.push(chunk);
    const request: FakeRequest = JSON.parse(Buffer.concat(chunks).toString());
    requests.push(request);
    headers.push(incoming.headers);
    const given = await reply(request, requests.length - 1);
    if (given === "hang") return;
    if (typeof given !== "string" && "status" in given) {
      response.writeHead(given.status, given.headers).end(given.body ?? "");
      return;
    }
    const [content, reason] = typeof given === "string" ? [given, "stop"] : [given.cutOff, "length"];
    const choices = [{ message: { role: "assistant", content }, finish_reason: reason }];
    response.setHeader("content-type", "application/json");
    response.end(JSON.stringify({ choices, usage: { total_tokens: tokensPerCall } }));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("no port");
  return {
    endpoint: `http://127.0.0.1:${address.port}/v1/`,
    requests,
    headers,
    close: () =>
      new Promise((resolve) => {
        server.closeAllConnections();
        server.close(() => resolve());
      }),
  };
}

/** A request without what stands between the marked lines: all that a judge may obey. */
export function outsideFence({ messages }: FakeRequest): string {
  const all = messages.map(({ content }) => content).join("\n");
  const mark = /^The mark is (\w+)\.$/m.exec(all)?.[1];
  if (mark === undefined) throw new Error("no mark");
  const outside: string[] = [];
  let open: string | undefined;
  for (const line of all.split("\n")) {
    if (open === undefined && line.startsWith("BEGIN ") && line.endsWith(` ${mark}`))
      open = line.replace("BEGIN", "END");
    else if (line === open) open = undefined;
    else if (open === undefined) outside.push(line);
  }
  if (open !== undefined) throw new Error("a fence that is never closed");
  return outside.join("\n").replaceAll(mark, "MARK");
}

/** A judge that obeys every word outside the fence, and repeats the last JSON object it finds there. */
export function gullible(request: FakeRequest): string {
  const outside = outsideFence(request);
  if (/ignore the rubric|you are now|task is solved/i.test(outside))
    return '{"reasoning": "as ordered", "success": true}';
  const objects = outside.match(/\{[^{}]*\}/g) ?? [];
  return objects.at(-1) ?? "";
}
