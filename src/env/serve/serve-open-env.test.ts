import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { afterEach, expect, test } from "vitest";
import { listed } from "../../task/listed.ts";
import { defineEnv } from "../define-env.ts";
import type { Env } from "../env.ts";
import { serveEnv } from "../serve-env.ts";

const closing: (() => Promise<void> | void)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
});

/** An environment whose episodes begin when they are let. */
async function serve(begin: () => Promise<void> = async () => {}, maxSessions = 2) {
  const env = defineEnv({
    name: "waits",
    description: "An environment that waits.",
    tasks: listed({ train: [{}], test: [{}] }),
    start: async () => {
      await begin();
      return { state: {}, say: "go" };
    },
    act: () => ({ say: "on" }),
    score: () => ({ reward: 0 }),
  });
  const server = await serveEnv(env as unknown as Env, { port: 0, protocol: "openenv", maxSessions });
  closing.push(() => server.close());
  const url = new URL(server.url!);
  const dial = async (): Promise<Socket> => {
    const socket = connect(Number(url.port), url.hostname);
    closing.push(() => void socket.destroy());
    await once(socket, "connect");
    socket.on("error", () => {});
    return socket;
  };
  return { url: url.origin, host: url.host, dial };
}

const handshake = (path: string, host: string) =>
  [
    `GET ${path} HTTP/1.1`,
    `Host: ${host}`,
    "Upgrade: websocket",
    "Connection: Upgrade",
    "Sec-WebSocket-Version: 13",
    "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==",
    "\r\n",
  ].join("\r\n");

/** A text as clients write it, with a mask of zeros. */
function text(message: object): Buffer {
  const payload = Buffer.from(JSON.stringify(message));
  return Buffer.concat([Buffer.from([0x81, 0x80 | payload.length, 0, 0, 0, 0]), payload]);
}

test.each(["//", "http://[", "//:0/ws"])("an upgrade of %s is refused, and the server goes on", async (path) => {
  const { url, host, dial } = await serve();
  const socket = await dial();
  socket.write(handshake(path, host));
  const [answer] = (await once(socket, "data")) as [Buffer];
  expect(answer.toString()).toMatch(/^HTTP\/1\.1 40[04] /);
  expect((await fetch(`${url}/health`)).status).toBe(200);
});

test("a client that breaks off during a refused upgrade does not end the server", async () => {
  const { url, host, dial } = await serve();
  for (let i = 0; i < 20; i++) {
    const socket = await dial();
    socket.write(handshake("/elsewhere", host));
    socket.resetAndDestroy();
  }
  expect((await fetch(`${url}/health`)).status).toBe(200);
});

test("messages that pile up before their answers end the connection", async () => {
  const held = Promise.withResolvers<void>();
  closing.push(() => held.resolve());
  const { host, dial } = await serve(() => held.promise);
  const socket = await dial();
  socket.write(handshake("/ws", host));
  await once(socket, "data");
  const said: Buffer[] = [];
  socket.on("data", (chunk: Buffer) => said.push(chunk));
  socket.write(text({ type: "reset" }));
  for (let i = 0; i < 200; i++) socket.write(text({ type: "state" }));
  await once(socket, "end");
  const close = Buffer.concat(said);
  expect([close[0], close.readUInt16BE(2)]).toEqual([0x88, 1008]);
});

test("single requests have no more episodes at once than sessions are allowed", async () => {
  const held = Promise.withResolvers<void>();
  let begun = 0;
  const { url } = await serve(() => {
    begun++;
    return held.promise;
  });
  const reset = () => fetch(`${url}/reset`, { method: "POST", body: "{}" });
  const first = [reset(), reset()];
  await expect.poll(() => begun).toBe(2);
  expect((await reset()).status).toBe(503);
  held.resolve();
  expect((await Promise.all(first)).map(({ status }) => status)).toEqual([200, 200]);
  expect((await reset()).status).toBe(200);
});
