/** A program that speaks MCP on its standard streams. It sees `env` and what a shell needs, not this program's environment. */
export interface McpCommand {
  readonly command: string;
  readonly args?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  readonly cwd?: string;
}

/** A server that speaks streamable HTTP. */
export interface McpUrl {
  readonly url: string | URL;
  readonly headers?: Readonly<Record<string, string>>;
}

export type McpServer = McpCommand | McpUrl;

/** With a handshake and a session, or without: the newer one has neither. */
export type McpProtocol = "2025-11-25" | "2026-07-28";
export const mcpProtocols: readonly McpProtocol[] = ["2025-11-25", "2026-07-28"];
