import { createServer, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";

export interface FakeAnswer {
  readonly content?: string;
  readonly calls?: readonly { readonly name: string; readonly arguments: string }[];
}

export interface FakeModel extends AsyncDisposable {
  /** Up to and with `/v1`. */
  readonly url: string;
  /** The bodies that were asked, in order. */
  readonly asked: readonly FakeBody[];
}

export interface FakeBody {
  readonly messages: readonly { readonly role: string; readonly content: string }[];
  readonly tools?: readonly { readonly function: { readonly name: string; readonly parameters: unknown } }[];
  readonly temperature: number;
  readonly model: string;
}

/** An OpenAI-compatible server on loopback. A text instead of an answer is sent as it is, a number as the status of an error. */
export async function fakeModel(
  answer: (body: FakeBody, index: number) => FakeAnswer | string | number,
): Promise<FakeModel> {
  const asked: FakeBody[] = [];
  const server = createServer(async (request, response) => {
    if (request.url?.endsWith("/models")) {
      response.end(JSON.stringify({ data: [{ id: "fake" }] }));
      return;
    }
    const body: FakeBody = JSON.parse(await textOf(request));
    asked.push(body);
    const given = answer(body, asked.length - 1);
    if (typeof given === "number") response.statusCode = given;
    response.end(typeof given === "object" ? JSON.stringify(completion(given)) : String(given));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}/v1`,
    asked,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

function completion({ content = "", calls = [] }: FakeAnswer) {
  const called = calls.map((call, index) => ({ id: `c${index}`, type: "function", function: call }));
  const message = { role: "assistant", content, ...(called.length === 0 ? {} : { tool_calls: called }) };
  return {
    choices: [{ message, finish_reason: "stop" }],
    usage: { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 },
  };
}

async function textOf(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk);
  return Buffer.concat(chunks).toString("utf8");
}
