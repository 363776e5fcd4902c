import { z } from "zod";
import type { ToolContext } from "../../tool/tool.ts";
import type { ToolMaker } from "../define-env.ts";
import type { PageAction } from "./page-driver.ts";

type Act<State> = (action: PageAction, context: ToolContext<State>) => Promise<string>;

const element = z
  .string()
  .optional()
  .describe("Human-readable element description used to obtain permission to interact with the element");
const target = z
  .string()
  .describe("Exact target element reference from the page snapshot, or a unique element selector");

/** Tools with the names, arguments and descriptions of `@playwright/mcp` 0.0.83; playwright-mcp.browser.test.ts compares them. */
export function browserTools<State>(tool: ToolMaker<State>, act: Act<State>) {
  return {
    browser_navigate: tool({
      description: "Navigate to a URL",
      input: z.object({ url: z.string().describe("The URL to navigate to") }),
      run: ({ url }, context) => act({ tool: "browser_navigate", url }, context),
    }),
    browser_navigate_back: tool({
      description: "Go back to the previous page in the history",
      input: z.object({}),
      run: (_, context) => act({ tool: "browser_navigate_back" }, context),
    }),
    browser_snapshot: tool({
      description: "Capture accessibility snapshot of the current page, this is better than screenshot",
      input: z.object({}),
      run: (_, context) => act({ tool: "browser_snapshot" }, context),
    }),
    browser_click: tool({
      description: "Perform click on a web page",
      input: z.object({ element, target }),
      run: ({ target }, context) => act({ tool: "browser_click", target }, context),
    }),
    browser_hover: tool({
      description: "Hover over element on page",
      input: z.object({ element, target }),
      run: ({ target }, context) => act({ tool: "browser_hover", target }, context),
    }),
    browser_type: tool({
      description: "Type text into editable element",
      input: z.object({
        element,
        target,
        text: z.string().describe("Text to type into the element"),
        submit: z.boolean().optional().describe("Whether to submit entered text (press Enter after)"),
      }),
      run: ({ target, text, submit = false }, context) => act({ tool: "browser_type", target, text, submit }, context),
    }),
    browser_select_option: tool({
      description: "Select an option in a dropdown",
      input: z.object({
        element,
        target,
        values: z
          .array(z.string())
          .describe("Array of values to select in the dropdown. This can be a single value or multiple values."),
      }),
      run: ({ target, values }, context) => act({ tool: "browser_select_option", target, values }, context),
    }),
    browser_press_key: tool({
      description: "Press a key on the keyboard",
      input: z.object({
        key: z.string().describe("Name of the key to press or a character to generate, such as `ArrowLeft` or `a`"),
      }),
      run: ({ key }, context) => act({ tool: "browser_press_key", key }, context),
    }),
  };
}
