/// <reference lib="esnext.disposable" preserve="true" />
// users may compile against a library that does not know `AsyncDisposable`

export interface ServeHttpOptions {
  /** 0 for any that is free. */
  port: number;
  /** This machine alone, 127.0.0.1, by default. Others are reached by anyone who reaches it: there is no password. */
  host?: string;
  /** A client, or an episode of one without a session, that was silent for so long is forgotten; half an hour by default. */
  idleMs?: number;
  /** Sessions, and episodes of clients without one; 1,000 of each by default. */
  maxSessions?: number;
  /** What clients speak: MCP by default, or OpenEnv (`reset`, `step`, `state` over a WebSocket). */
  protocol?: "mcp" | "openenv";
}

export interface ServedEnv extends AsyncDisposable {
  /** Where clients connect to; nothing on standard streams. */
  readonly url: string | undefined;
  /** When it has ended, by `close` or, on standard streams, by its client. */
  readonly closed: Promise<void>;
  /** Ends all sessions and their episodes. */
  close(): Promise<void>;
}
