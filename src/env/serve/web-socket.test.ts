import { once } from "node:events";
import { createServer } from "node:http";
import { type AddressInfo, connect, type Socket } from "node:net";
import { afterEach, expect, test } from "vitest";
import { acceptWebSocket, closeCodes, upgradeProblem, type WebSocketConnection } from "./web-socket.ts";

const closing: (() => void)[] = [];
afterEach(() => {
  for (const close of closing.splice(0)) close();
});

const maxBytes = 100_000;

/** A server that keeps what it hears, and a bare connection to it, after the handshake. */
async function open() {
  const heard: string[] = [];
  const ended = Promise.withResolvers<void>();
  const made = Promise.withResolvers<WebSocketConnection>();
  const http = createServer();
  http.on("upgrade", (request, socket, head) => {
    expect(upgradeProblem(request)).toBeUndefined();
    acceptWebSocket(request, socket, head, maxBytes, (connection) => {
      made.resolve(connection);
      return { onText: (text) => void heard.push(text), onClose: () => ended.resolve() };
    });
  });
  http.listen(0, "127.0.0.1");
  await once(http, "listening");
  const { port } = http.address() as AddressInfo;
  const socket = connect(port, "127.0.0.1");
  closing.push(() => {
    socket.destroy();
    http.closeAllConnections();
    http.close();
  });
  const lines = [
    "GET /ws HTTP/1.1",
    "Host: x",
    "Upgrade: websocket",
    "Connection: Upgrade",
    "Sec-WebSocket-Version: 13",
  ];
  // key and answer are those of RFC 6455, 1.3
  socket.write(`${[...lines, "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ=="].join("\r\n")}\r\n\r\n`);
  const [head] = (await once(socket, "data")) as [Buffer];
  expect(head.toString()).toMatch(/^HTTP\/1\.1 101 .*Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK\+xOo=/s);
  return { heard, socket, ended: ended.promise, connection: await made.promise };
}

/** A frame as clients write it. */
function frame(opcode: number, payload: string | Buffer, { isLast = true, isMasked = true } = {}): Buffer {
  const bytes = Buffer.from(payload);
  const mask = Buffer.from([1, 2, 3, 4]);
  const header = Buffer.alloc(bytes.length > 125 ? 4 : 2);
  header[0] = (isLast ? 0x80 : 0) | opcode;
  header[1] = (isMasked ? 0x80 : 0) | (bytes.length > 125 ? 126 : bytes.length);
  if (bytes.length > 125) header.writeUInt16BE(bytes.length, 2);
  return Buffer.concat([header, ...(isMasked ? [mask, bytes.map((byte, i) => byte ^ mask[i & 3])] : [bytes])]);
}

async function nextFrame(socket: Socket): Promise<Buffer> {
  const [data] = (await once(socket, "data")) as [Buffer];
  return data;
}
const closeCode = (data: Buffer) => (data[0] === 0x88 ? data.readUInt16BE(2) : undefined);

test("texts of any length, in one piece or byte by byte, in both directions", async () => {
  const { heard, socket, connection } = await open();
  const long = "ä".repeat(20_000);
  for (const byte of frame(1, "hello ☃")) socket.write(Buffer.from([byte]));
  socket.write(Buffer.concat([frame(1, "two"), frame(1, long)]));
  await expect.poll(() => heard).toEqual(["hello ☃", "two", long]);
  connection.send("☃");
  expect(await nextFrame(socket)).toEqual(Buffer.concat([Buffer.from([0x81, 3]), Buffer.from("☃")]));
  connection.send("x".repeat(300));
  expect((await nextFrame(socket)).subarray(0, 4)).toEqual(Buffer.from([0x81, 126, 1, 44]));
});

test("a message in parts, with a ping between them, which is answered", async () => {
  const { heard, socket } = await open();
  socket.write(Buffer.concat([frame(1, "a", { isLast: false }), frame(9, "!")]));
  expect(await nextFrame(socket)).toEqual(Buffer.from([0x8a, 1, 0x21]));
  expect(heard).toEqual([]);
  socket.write(Buffer.concat([frame(0, "b", { isLast: false }), frame(0, "c")]));
  await expect.poll(() => heard).toEqual(["abc"]);
});

test.each([
  ["a frame that is not masked", frame(1, "x", { isMasked: false }), closeCodes.protocol],
  ["a continuation of nothing", frame(0, "x"), closeCodes.protocol],
  ["a text within a text", Buffer.concat([frame(1, "a", { isLast: false }), frame(1, "b")]), closeCodes.protocol],
  ["an unknown opcode", frame(3, "x"), closeCodes.protocol],
  ["a ping that is too long", frame(9, "x".repeat(126)), closeCodes.protocol],
  ["bytes", frame(2, "x"), closeCodes.notText],
  ["a text that is not UTF-8", frame(1, Buffer.from([0xff])), closeCodes.notUtf8],
  ["a length beyond the bound", Buffer.from([0x81, 0xff, 0, 0, 0, 0, 0x7f, 0, 0, 0]), closeCodes.tooLarge],
  [
    "parts beyond the bound",
    Buffer.concat([1, 0].map((op) => frame(op, "x".repeat(60_000), { isLast: false }))),
    closeCodes.tooLarge,
  ],
])("%s closes the connection", async (_, sent, code) => {
  const { heard, socket, ended } = await open();
  socket.write(sent);
  expect(closeCode(await nextFrame(socket))).toBe(code);
  await ended;
  expect(heard).toEqual([]);
});

test("either side may leave; what is sent then is dropped", async () => {
  const { socket, ended, connection } = await open();
  socket.write(frame(8, Buffer.from([3, 232])));
  expect(closeCode(await nextFrame(socket))).toBe(closeCodes.normal);
  connection.send("too late");
  await ended;
  const other = await open();
  other.socket.destroy();
  await other.ended;
});
