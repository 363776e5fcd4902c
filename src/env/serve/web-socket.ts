import { isUtf8 } from "node:buffer";
import { createHash } from "node:crypto";
import type { IncomingMessage } from "node:http";
import type { Duplex } from "node:stream";

/** One connection of a WebSocket (RFC 6455), on the server's side: whole texts in, whole texts out, no extensions. */
export interface WebSocketConnection {
  send(text: string): void;
  /** `code` as in RFC 6455, 7.4. */
  close(code?: number, reason?: string): void;
}

export interface WebSocketListener {
  onText(text: string): void;
  /** Once, however it ended. */
  onClose(): void;
}

export const closeCodes = {
  normal: 1000,
  protocol: 1002,
  notText: 1003,
  notUtf8: 1007,
  tooMany: 1008,
  tooLarge: 1009,
} as const;

const guid = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";
const opcodes = { continuation: 0, text: 1, binary: 2, close: 8, ping: 9, pong: 10 } as const;
const maxControlBytes = 125;
const maxParts = 4_096;
/** Answers that wait for the other side to read them. */
const maxUnsentBytes = 64 * 2 ** 20;
/** How long the other side may take to answer that we close. */
const leaveMs = 2_000;

/** What is wrong with a request to upgrade; undefined where it can be accepted. */
export function upgradeProblem({ method, headers }: Pick<IncomingMessage, "method" | "headers">): string | undefined {
  if (method !== "GET" || headers.upgrade?.toLowerCase() !== "websocket") return "expected a WebSocket";
  if (headers["sec-websocket-version"] !== "13") return "expected version 13 of the WebSocket protocol";
  const key = headers["sec-websocket-key"] ?? "";
  return /^[A-Za-z0-9+/]{22}==$/.test(key) ? undefined : "expected a Sec-WebSocket-Key";
}

/** Answers the request, and reads messages of at most `maxBytes` until either side closes. */
export function acceptWebSocket(
  request: IncomingMessage,
  socket: Duplex,
  head: Buffer,
  maxBytes: number,
  listen: (connection: WebSocketConnection) => WebSocketListener,
): void {
  const key = request.headers["sec-websocket-key"] ?? "";
  const accept = createHash("sha1").update(`${key}${guid}`).digest("base64");
  const lines = ["HTTP/1.1 101 Switching Protocols", "Upgrade: websocket", "Connection: Upgrade"];
  socket.write(`${[...lines, `Sec-WebSocket-Accept: ${accept}`].join("\r\n")}\r\n\r\n`);
  const connection = new ServerConnection(socket, maxBytes, listen);
  socket.on("data", (chunk: Buffer) => connection.read(chunk));
  socket.on("close", () => connection.ended());
  // "close" follows
  socket.on("error", () => socket.destroy());
  socket.on("end", () => socket.end());
  if (head.length > 0) connection.read(head);
}

interface Frame {
  readonly isLast: boolean;
  readonly opcode: number;
  readonly payload: Buffer;
}

class ServerConnection implements WebSocketConnection {
  readonly #socket: Duplex;
  readonly #maxBytes: number;
  readonly #listener: WebSocketListener;
  #unread: Buffer = Buffer.alloc(0);
  #parts: Buffer[] | undefined;
  #partBytes = 0;
  #isClosing = false;
  #isOver = false;

  constructor(socket: Duplex, maxBytes: number, listen: (connection: WebSocketConnection) => WebSocketListener) {
    this.#socket = socket;
    this.#maxBytes = maxBytes;
    this.#listener = listen(this);
  }

  send(text: string): void {
    if (!this.#isClosing) this.#write(opcodes.text, Buffer.from(text, "utf8"));
  }

  close(code: number = closeCodes.normal, reason = ""): void {
    if (this.#isClosing) return;
    this.#isClosing = true;
    const payload = Buffer.alloc(2 + Buffer.byteLength(reason));
    payload.writeUInt16BE(code);
    payload.write(reason, 2);
    this.#write(opcodes.close, payload.subarray(0, maxControlBytes));
    this.#socket.end();
    setTimeout(() => this.#socket.destroy(), leaveMs).unref();
  }

  ended(): void {
    this.#isClosing = true;
    if (this.#isOver) return;
    this.#isOver = true;
    this.#listener.onClose();
  }

  read(chunk: Buffer): void {
    if (this.#isClosing) return;
    this.#unread = this.#unread.length === 0 ? chunk : Buffer.concat([this.#unread, chunk]);
    while (!this.#isClosing) {
      const frame = this.#nextFrame();
      if (frame === undefined) return;
      this.#take(frame);
    }
  }

  /** The next whole frame. Closes where what came is none, or longer than is allowed. */
  #nextFrame(): Frame | undefined {
    const bytes = this.#unread;
    if (bytes.length < 2) return undefined;
    const [first, second] = bytes;
    const opcode = first & 0x0f;
    const isControl = opcode >= opcodes.close;
    // reserved bits are of extensions, and clients must mask
    if ((first & 0x70) !== 0 || (second & 0x80) === 0) return this.#refuse(closeCodes.protocol);
    const short = second & 0x7f;
    const headerBytes = short === 127 ? 10 : short === 126 ? 4 : 2;
    if (bytes.length < headerBytes) return undefined;
    const length = short === 127 ? Number(bytes.readBigUInt64BE(2)) : short === 126 ? bytes.readUInt16BE(2) : short;
    if (isControl && (length > maxControlBytes || (first & 0x80) === 0)) return this.#refuse(closeCodes.protocol);
    if (!isControl && this.#partBytes + length > this.#maxBytes) return this.#refuse(closeCodes.tooLarge);
    const end = headerBytes + 4 + length;
    if (bytes.length < end) return undefined;
    const mask = bytes.subarray(headerBytes, headerBytes + 4);
    const payload = Buffer.from(bytes.subarray(headerBytes + 4, end));
    for (let i = 0; i < payload.length; i++) payload[i] ^= mask[i & 3];
    this.#unread = bytes.subarray(end);
    return { isLast: (first & 0x80) !== 0, opcode, payload };
  }

  #take(frame: Frame): void {
    const { opcode, payload } = frame;
    switch (opcode) {
      case opcodes.ping:
        this.#write(opcodes.pong, payload);
        break;
      case opcodes.pong:
        break;
      case opcodes.close:
        this.close();
        break;
      case opcodes.binary:
        this.close(closeCodes.notText);
        break;
      case opcodes.text:
      case opcodes.continuation:
        this.#takeText(frame);
        break;
      default:
        this.close(closeCodes.protocol);
    }
  }

  #takeText({ isLast, opcode, payload }: Frame): void {
    // a text begins a message, and a continuation goes on with one
    if ((opcode === opcodes.text) !== (this.#parts === undefined)) {
      this.close(closeCodes.protocol);
      return;
    }
    this.#parts ??= [];
    this.#parts.push(payload);
    this.#partBytes += payload.length;
    if (this.#parts.length > maxParts) this.close(closeCodes.tooLarge);
    if (!isLast || this.#isClosing) return;
    const whole = Buffer.concat(this.#parts);
    this.#parts = undefined;
    this.#partBytes = 0;
    if (isUtf8(whole)) this.#listener.onText(whole.toString("utf8"));
    else this.close(closeCodes.notUtf8);
  }

  #refuse(code: number): undefined {
    this.close(code);
  }

  #write(opcode: number, payload: Buffer): void {
    if (!this.#socket.writable) return;
    // a client that asks and does not read would fill the memory
    if (this.#socket.writableLength > maxUnsentBytes) {
      this.#isClosing = true;
      this.#socket.destroy();
      return;
    }
    const { length } = payload;
    const header = Buffer.alloc(length > 0xffff ? 10 : length > maxControlBytes ? 4 : 2);
    header[0] = 0x80 | opcode;
    header[1] = length > 0xffff ? 127 : length > maxControlBytes ? 126 : length;
    if (length > 0xffff) header.writeBigUInt64BE(BigInt(length), 2);
    else if (length > maxControlBytes) header.writeUInt16BE(length, 2);
    this.#socket.write(Buffer.concat([header, payload]));
  }
}
