import type { ScreenAction } from "../environments/screen-actions.ts";
import type { SiteBackend } from "./site-backend.ts";

/** What an agent does to a page, with the names and arguments of `@playwright/mcp`. */
export type PageAction =
  | { readonly tool: "browser_navigate"; readonly url: string }
  | { readonly tool: "browser_navigate_back" }
  /** WebAgent-R1's, not the server's: it has no tool for it. */
  | { readonly tool: "browser_navigate_forward" }
  | { readonly tool: "browser_fill_form"; readonly fields: readonly FormField[] }
  | { readonly tool: "browser_wait_for"; readonly time?: number; readonly text?: string; readonly textGone?: string }
  | { readonly tool: "browser_snapshot" }
  | {
      readonly tool: "browser_click";
      readonly target: string;
      readonly doubleClick?: boolean;
      readonly button?: "left" | "right" | "middle";
    }
  | { readonly tool: "browser_hover"; readonly target: string }
  | { readonly tool: "browser_type"; readonly target: string; readonly text: string; readonly submit?: boolean }
  | { readonly tool: "browser_select_option"; readonly target: string; readonly values: readonly string[] }
  | { readonly tool: "browser_press_key"; readonly key: string };

export interface FormField {
  readonly target: string;
  readonly name: string;
  readonly type: "textbox" | "checkbox" | "radio" | "combobox" | "slider";
  /** `true` or `false` of a checkbox, the text of an option of a combobox. */
  readonly value: string;
}

/**
 * One page of one episode. `act` does something and returns what `browser_snapshot` says afterwards. A `ToolError` is the policy's
 * doing; anything else is a fault of the page, which ends the episode.
 */
export interface PageDriver {
  act(action: PageAction, signal: AbortSignal): Promise<PageView> | PageView;
  /** An action by coordinates, where there are any. */
  point?(action: ScreenAction): Promise<PageView>;
  /** Where the cursor is, where there is one. */
  readonly cursor?: readonly [number, number];
  /** What an expression is in the page, where scripts run. */
  evaluate?(expression: string): Promise<unknown>;
  /** Pixels of the page as they are now, where there are any. */
  screenshot?(): Promise<Uint8Array>;
  /** A small picture of the page, and where the element of a ref is on it. */
  film?(target: string | undefined): Promise<PageFrame>;
  /** The same page once more, of a back end with the same data; absent where a page cannot be copied, as in a browser. */
  copy?(backend: SiteBackend): PageDriver;
  close(): Promise<void> | void;
}

/** A small picture of a page; and where on it an element is, in shares of its width and height. */
export interface PageFrame {
  /** A `data:` address. */
  readonly image: string;
  /** Left, top, width, height. */
  readonly box?: readonly [number, number, number, number];
}

export interface PageView {
  readonly url: string;
  readonly title: string;
  /** The accessibility snapshot. */
  readonly snapshot: string;
}

/** The text of a view as the server of `@playwright/mcp` writes it. */
export function viewText({ url, title, snapshot }: PageView): string {
  const named = title === "" ? "" : `\n- Page Title: ${title}`;
  return `### Page\n- Page URL: ${url}${named}\n### Snapshot\n\`\`\`yaml\n${snapshot}\n\`\`\``;
}

/** The other way round. */
export function readViewText(text: string): PageView {
  const url = /^- Page URL: (.*)$/m.exec(text)?.[1] ?? "";
  const title = /^- Page Title: (.*)$/m.exec(text)?.[1] ?? "";
  const snapshot = /```yaml\n([\s\S]*?)\n?```/.exec(text)?.[1] ?? "";
  return { url, title, snapshot };
}

/** What the server waits at most, in seconds. */
export const maxWaitSeconds = 30;
/** And for a text. */
export const waitForTextMs = 5000;

export const waitedInVain = `### Error\nTimeoutError: Timeout ${waitForTextMs}ms exceeded.`;
export const noCheckbox = "### Error\nError: Not a checkbox or radio button";

export const missingRef = (ref: string): string =>
  `### Error\nError: Ref ${ref} not found in the current page snapshot. Try capturing new snapshot.`;
