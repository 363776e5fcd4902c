import type { Env } from "../env.ts";
import type { ServedEnv } from "./served-env.ts";
import { sessionServer } from "./session-server.ts";

/** One client, on the standard streams of this process. Ends with its input. */
export async function serveStdio(env: Env): Promise<ServedEnv> {
  const { StdioServerTransport } = await import("@modelcontextprotocol/sdk/server/stdio.js");
  const { server, session } = await sessionServer(env);
  const closed = Promise.withResolvers<void>();
  let closing: Promise<void> | undefined;
  const end = async () => {
    await session.close();
    await server.close();
    closed.resolve();
  };
  const close = () => {
    closing ??= end();
    return closing;
  };
  server.onclose = () => void close();
  // the SDK does not look for it, and the episode must be closed
  process.stdin.once("end", () => void close());
  await server.connect(new StdioServerTransport());
  return { url: undefined, closed: closed.promise, close, [Symbol.asyncDispose]: close };
}
