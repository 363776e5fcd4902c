import type { ToolSpec } from "../../schema/message.ts";
import { jsonText } from "./json-call.ts";

/** One tool a line, as JSON. */
export function jsonSpecs(tools: readonly ToolSpec[]): string {
  return tools.map(({ name, description, parameters }) => jsonText({ name, description, parameters }, [])).join("\n");
}
