import { z } from "zod";
import { defined } from "../../defined.ts";
import type { ToolContext } from "../../tool/tool.ts";
import { ToolError } from "../../tool/tool.ts";
import type { ToolMaker } from "../define-env.ts";
import { maxWaitSeconds, type PageAction } from "./page-driver.ts";

type Act<State> = (action: PageAction, context: ToolContext<State>) => Promise<string>;
type Where<State> = (state: State) => { readonly url: string; readonly title: string };

const element = z
  .string()
  .optional()
  .describe("Human-readable element description used to obtain permission to interact with the element");
const target = z
  .string()
  .describe("Exact target element reference from the page snapshot, or a unique element selector");

/** Tools with the names, arguments and descriptions of `@playwright/mcp` 0.0.83; playwright-mcp.browser.test.ts compares them. */
export function browserTools<State>(tool: ToolMaker<State>, act: Act<State>, where: Where<State>) {
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
    ...waitingTools(tool, act),
    browser_fill_form: tool({
      description: "Fill multiple form fields",
      input: z.object({
        fields: z
          .array(
            z.object({
              element,
              target,
              name: z.string().describe("Human-readable field name"),
              type: z.enum(["textbox", "checkbox", "radio", "combobox", "slider"]).describe("Type of the field"),
              value: z
                .string()
                .describe(
                  "Value to fill in the field. If the field is a checkbox, the value should be `true` or `false`. If the field is a combobox, the value should be the text of the option.",
                ),
            }),
          )
          .describe("Fields to fill in"),
      }),
      run: ({ fields }, context) =>
        act(
          {
            tool: "browser_fill_form",
            fields: fields.map(({ target, name, type, value }) => ({ target, name, type, value })),
          },
          context,
        ),
    }),
    ...tabsTool(tool, where),
  };
}

/** Tools for what pages may do by themselves. Those of the sites do nothing. */
function waitingTools<State>(tool: ToolMaker<State>, act: Act<State>) {
  return {
    browser_wait_for: tool({
      description: "Wait for text to appear or disappear or a specified time to pass",
      input: z.object({
        time: z.number().optional().describe("The time to wait in seconds, at most 30"),
        text: z.string().optional().describe("The text to wait for"),
        textGone: z.string().optional().describe("The text to wait for to disappear"),
      }),
      async run({ time, text, textGone }, context) {
        const waited = text ?? textGone ?? (time === undefined ? undefined : `${time} seconds`);
        if (waited === undefined) {
          throw new ToolError("### Error\nError: Either time, text or textGone must be provided");
        }
        const limited = time === undefined ? undefined : Math.min(Math.max(0, time), maxWaitSeconds);
        const view = await act({ tool: "browser_wait_for", ...defined({ time: limited, text, textGone }) }, context);
        return `### Result\nWaited for ${waited}\n${view}`;
      },
    }),
    browser_handle_dialog: tool({
      description: "Handle a dialog",
      input: z.object({
        accept: z.boolean().describe("Whether to accept the dialog."),
        promptText: z.string().optional().describe("The text of the prompt in case of a prompt dialog."),
      }),
      // dialogs are dismissed at once
      async run() {
        throw new ToolError(
          '### Error\nError: The tool "browser_handle_dialog" can only be used when there is related modal state present.',
        );
      },
    }),
  };
}

/** An episode is one page. */
function tabsTool<State>(tool: ToolMaker<State>, where: Where<State>) {
  return {
    browser_tabs: tool({
      description: "List, create, close, or select a browser tab.",
      input: z.object({
        action: z.enum(["list", "new", "close", "select"]).describe("Operation to perform"),
        index: z
          .number()
          .optional()
          .describe("Tab index, used for close/select. If omitted for close, current tab is closed."),
        url: z.string().optional().describe("URL to navigate to in the new tab, used for new."),
      }),
      async run({ action, index }, { state }) {
        if (action === "new" || action === "close") {
          throw new ToolError(`### Error\nError: an episode has one tab: ${action} is not there.`);
        }
        if (action === "select" && index !== 0) throw new ToolError(`### Error\nError: Tab ${index} not found`);
        const { title, url } = where(state);
        return `### Result\n- 0: (current) [${title}](${url})`;
      },
    }),
  };
}
