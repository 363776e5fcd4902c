import type { EpisodeBox } from "../../tool/sandbox/episode-box.ts";

/**
 * A tool of a tool server: it finds its own call in the text that a policy wrote. The tool with the highest priority for a text gets
 * it, the first of them where several have the same; below 0 is not for this tool.
 *
 *     const clock: ActionTool = {
 *       name: "clock",
 *       usage: "<clock/>",
 *       priority: (action) => (action.includes("<clock/>") ? 1 : -1),
 *       run: async () => ({ observation: "noon" }),
 *     };
 */
export interface ActionTool {
  readonly name: string;
  /** How it is called, for a policy that called nothing. */
  readonly usage: string;
  priority(action: string, extra: ExtraFields): number;
  run(action: string, trajectory: ToolTrajectory): Promise<ToolOutcome>;
  close?(): Promise<void>;
}

/** What else a request says of a trajectory. */
export type ExtraFields = Readonly<Record<string, unknown>>;

/** What a trajectory keeps from one call to the next, until it is finished. */
export interface ToolTrajectory {
  readonly id: string;
  readonly extra: ExtraFields;
  /** Its files and commands, in a sandbox. */
  readonly box: EpisodeBox;
  /** Of each tool its own. */
  readonly state: Map<string, unknown>;
  readonly signal: AbortSignal;
}

export interface ToolOutcome {
  readonly observation: string;
  /** Ends the trajectory. */
  readonly isDone?: boolean;
  /** False where the policy called it wrongly. */
  readonly isValid?: boolean;
}

/** The text between tags, `<python>…</python>`, or in a fence, "```python"; all of them, one below the other. */
export function taggedText(action: string, names: readonly string[]): string | undefined {
  for (const name of names) {
    const parts = between(action, `<${name}>`, `</${name}>`);
    if (parts.length > 0) return parts.join("\n");
  }
  for (const name of names) {
    const parts = between(action, `\`\`\`${name}\n`, "```");
    if (parts.length > 0) return parts.join("\n");
  }
  return undefined;
}

/** In one pass, whatever the text: no regular expression goes back. */
function between(text: string, open: string, close: string): string[] {
  const parts: string[] = [];
  for (let at = text.indexOf(open); at >= 0; ) {
    const start = at + open.length;
    const end = text.indexOf(close, start);
    if (end < 0) break;
    parts.push(text.slice(start, end).trim());
    at = text.indexOf(open, end + close.length);
  }
  return parts;
}
