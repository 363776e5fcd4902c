import { AsyncLocalStorage } from "node:async_hooks";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";

export interface AgentServer {
  readonly url: string;
  close(): Promise<void>;
}

export type Handle = (body: string, response: ServerResponse, request: IncomingMessage) => void | Promise<void>;

/** A server of somebody else's agent; it runs where no attempt captures `fetch`, as in another process. */
export async function agentServer(handle: Handle): Promise<AgentServer> {
  const outside = AsyncLocalStorage.snapshot();
  const server = createServer((request, response) => {
    outside(async () => {
      try {
        await handle(await text(request), response, request);
      } catch (error) {
        response.writeHead(500, { "content-type": "text/plain" }).end(String(error));
      }
    }).catch(() => {});
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    async close() {
      server.closeAllConnections();
      await new Promise((done) => server.close(done));
    },
  };
}

export function sendJson(response: ServerResponse, value: unknown, status = 200): void {
  response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(value));
}
