import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { acceptWebSocket, type WebSocketConnection } from "../../serve/web-socket.ts";

export interface FakeOpenEnv {
  readonly url: string;
  /** Messages of all clients, in the order they came. */
  readonly received: unknown[];
  /** Connections that are open now. */
  open(): number;
  close(): Promise<void>;
}

export interface FakeParts {
  /** Answers of GET, and of POST /mcp, by path. */
  pages?: Readonly<Record<string, unknown>>;
  /** What is sent for a message; nothing where undefined. */
  answer?(message: { type: string; data?: unknown }, connection: WebSocketConnection): unknown;
  /** Said to each client before it asks. */
  greeting?: unknown;
}

const message = {
  title: "EchoAction",
  type: "object",
  properties: { message: { type: "string" } },
  required: ["message"],
};

/** A server that says what it is told: right, wrong or nothing. */
export async function fakeOpenEnv({ pages = {}, answer = () => undefined, greeting }: FakeParts): Promise<FakeOpenEnv> {
  const received: unknown[] = [];
  let open = 0;
  const known: Readonly<Record<string, unknown>> = {
    "/schema": { action: message, observation: {}, state: {} },
    ...pages,
  };
  const http = createServer((request, response) => {
    const page = known[request.url ?? ""];
    response.writeHead(page === undefined ? 404 : 200);
    response.end(typeof page === "string" ? page : JSON.stringify(page ?? {}));
  });
  http.on("upgrade", (request, socket, head) => {
    open++;
    acceptWebSocket(request, socket, head, 2 ** 20, (connection) => {
      const say = (said: unknown) => connection.send(typeof said === "string" ? said : JSON.stringify(said));
      if (greeting !== undefined) say(greeting);
      return {
        onText(text) {
          const asked = JSON.parse(text);
          received.push(asked);
          if (asked.type === "close") return connection.close();
          const said = answer(asked, connection);
          if (said !== undefined) say(said);
        },
        onClose: () => void open--,
      };
    });
  });
  http.listen(0, "127.0.0.1");
  await once(http, "listening");
  const close = async () => {
    http.closeAllConnections();
    http.close();
    await once(http, "close");
  };
  return { url: `http://127.0.0.1:${(http.address() as AddressInfo).port}`, received, open: () => open, close };
}

export const observed = (observation: object, more: object = {}) => ({
  type: "observation",
  data: { observation, reward: null, done: false, ...more },
});
export const failed = (code: string, text: string) => ({ type: "error", data: { message: text, code } });
