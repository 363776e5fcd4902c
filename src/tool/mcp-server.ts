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
