import type { CallToolResult } from "@modelcontextprotocol/client";
import { checkJsonDepth } from "../bounded-json.ts";

type Content = CallToolResult["content"][number];

/** What a server answered, as text. What is not text is named, with its size; structured content stands in where no text is. */
export function mcpText({ content, structuredContent }: CallToolResult): string {
  const lines = content.map(describeContent);
  const hasText = content.some(({ type }) => type === "text");
  // servers should say structured content as text too, and need not
  if (!hasText && structuredContent !== undefined) lines.push(JSON.stringify(checkJsonDepth(structuredContent)));
  return lines.join("\n");
}

export function describeContent(content: Content): string {
  switch (content.type) {
    case "text":
      return content.text;
    case "image":
    case "audio":
      return `[${content.type}: ${content.mimeType}, ${bytesOf(content.data)} bytes]`;
    case "resource":
      return describeResource(content.resource);
    case "resource_link":
      return `[link: ${content.name}, ${content.uri}]`;
    default:
      return content satisfies never;
  }
}

export function describeResource(resource: Extract<Content, { type: "resource" }>["resource"]): string {
  if ("text" in resource) return resource.text;
  return `[resource: ${resource.uri}, ${resource.mimeType ?? "unknown type"}, ${bytesOf(resource.blob)} bytes]`;
}

const bytesOf = (base64: string) => Buffer.byteLength(base64, "base64");
