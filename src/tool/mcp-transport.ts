import type { Readable } from "node:stream";
import type { Transport } from "@modelcontextprotocol/client";
import { defined } from "../defined.ts";
import { redact } from "../redact.ts";
import { boundedFetch, MessageLines } from "./mcp-bounds.ts";
import type { McpCommand, McpServer, McpUrl } from "./mcp-server.ts";

export interface McpTransport {
  readonly transport: Transport;
  /** What errors call the server. */
  readonly name: string;
  /** What the server is given besides its address and its messages: no error tells it. */
  readonly secrets: Readonly<Record<string, string>>;
  /** The last of what it printed; empty for a server elsewhere. */
  printed(): string;
  /** Says goodbye where the server keeps something for us. */
  leave(): Promise<void>;
}

// loaded when needed: the SDK takes longer to import than all the rest
export function openTransport(server: McpServer, isAsked: boolean): Promise<McpTransport> {
  return "command" in server ? openCommand(server) : openUrl(server, isAsked);
}

async function openCommand({ command, args = [], env, cwd }: McpCommand): Promise<McpTransport> {
  const { StdioClientTransport } = await import("@modelcontextprotocol/client/stdio");
  const transport = new StdioClientTransport({
    command,
    args: [...args],
    stderr: "pipe",
    ...defined({ env: env ? { ...env } : undefined, cwd }),
  });
  sendInTurn(transport);
  const { deserializeMessage } = await import("@modelcontextprotocol/client");
  // the SDK's own buffer ends the server at the first answer that is too large
  Object.assign(transport, { _readBuffer: new MessageLines(deserializeMessage) });
  const printed = keepTail(transport.stderr as Readable);
  const secrets = { ...env };
  return { transport, name: redact([command, ...args].join(" "), secrets), secrets, printed, leave: async () => {} };
}

async function openUrl({ url, headers = {} }: McpUrl, isAsked: boolean): Promise<McpTransport> {
  const { StreamableHTTPClientTransport } = await import("@modelcontextprotocol/client");
  const transport = new StreamableHTTPClientTransport(new URL(url), {
    requestInit: { headers: { ...headers } },
    fetch: boundedFetch({ isAsked }),
  });
  return {
    // its optional fields are not exact
    transport: transport as Transport,
    name: redact(String(url), headers),
    secrets: headers,
    printed: () => "",
    leave: () => transport.terminateSession(),
  };
}

/** The SDK listens for `drain` once per message; hundreds of calls at a time would warn of a leak. */
function sendInTurn(transport: Transport): void {
  const send = transport.send.bind(transport);
  let last: Promise<unknown> = Promise.resolve();
  transport.send = (message, options) => {
    const sent = last.then(() => send(message, options));
    last = sent.catch(() => {});
    return sent;
  };
}

const maxPrintedChars = 2000;

function keepTail(stream: Readable): () => string {
  let tail = "";
  stream.setEncoding("utf8").on("data", (text: string) => {
    tail = (tail + text).slice(-maxPrintedChars);
  });
  return () => tail.trim();
}
