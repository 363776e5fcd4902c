import type { Env } from "../env.ts";
import { EnvEpisodes } from "./env-episodes.ts";
import { EnvSession } from "./env-session.ts";
import type { ServedEnv, ServeHttpOptions } from "./served-env.ts";
import { sessionServer } from "./session-server.ts";

type Options = Required<Pick<ServeHttpOptions, "idleMs" | "maxSessions">>;

/** One client, on the standard streams of this process, in the version that its first message is of. Ends with its input. */
export async function serveStdio(env: Env, options: Options): Promise<ServedEnv> {
  const sdk = await import("@modelcontextprotocol/server/stdio");
  const [session, episodes] = [new EnvSession(env), new EnvEpisodes(env, options)];
  const closed = Promise.withResolvers<void>();
  let closing: Promise<void> | undefined;
  const handle = sdk.serveStdio(({ era }) =>
    era === "modern" ? sessionServer(env, episodes, true) : sessionServer(env, session, false),
  );
  const end = async () => {
    await Promise.all([session.close(), episodes.close()]);
    await handle.close();
    closed.resolve();
  };
  const close = () => {
    closing ??= end();
    return closing;
  };
  // the episode must be closed
  process.stdin.once("end", () => void close());
  return { url: undefined, closed: closed.promise, close, [Symbol.asyncDispose]: close };
}
