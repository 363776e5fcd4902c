// WebAgent-R1's action space (arXiv 2505.16421): one call for each turn. "Switch Tab" is not in it: an episode is one page, and windows that a
// page opens are closed.

import type { PageAction } from "./page-driver.ts";

export type DoAction = PageAction | { readonly answer: string };

const call = /^\s*(do|exit|go_backward|go_forward)\s*\((.*)\)\s*$/s;
const argument = /(\w+)\s*=\s*("(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')\s*(?:,|$)/g;

/** Undefined where it is no action. */
export function readDo(text: string): DoAction | undefined {
  const found = call.exec(text);
  if (found === null) return undefined;
  const given: Record<string, string> = {};
  for (const [, name, quoted] of found[2].matchAll(argument)) given[name] = unquoted(quoted);
  if (found[1] === "exit") return { answer: given.message ?? "" };
  if (found[1] === "go_backward") return { tool: "browser_navigate_back" };
  if (found[1] === "go_forward") return { tool: "browser_navigate_forward" };
  return doAction(given);
}

function doAction({
  action,
  element: target,
  argument: text,
}: Record<string, string | undefined>): PageAction | undefined {
  switch (action) {
    case "Click":
      return target === undefined ? undefined : { tool: "browser_click", target };
    case "Right Click":
      return target === undefined ? undefined : { tool: "browser_click", target, button: "right" };
    case "Hover":
      return target === undefined ? undefined : { tool: "browser_hover", target };
    case "Type":
      return target === undefined || text === undefined ? undefined : { tool: "browser_type", target, text };
    case "Search":
      return target === undefined || text === undefined
        ? undefined
        : { tool: "browser_type", target, text, submit: true };
    case "Select Dropdown Option":
      return target === undefined || text === undefined
        ? undefined
        : { tool: "browser_select_option", target, values: [text] };
    case "Press Enter":
      return { tool: "browser_press_key", key: "Enter" };
    case "Scroll Up":
      return { tool: "browser_press_key", key: "PageUp" };
    case "Scroll Down":
      return { tool: "browser_press_key", key: "PageDown" };
    case "Go To":
      return text === undefined ? undefined : { tool: "browser_navigate", url: text };
    case "Wait":
      return { tool: "browser_snapshot" };
    default:
      return undefined;
  }
}

function unquoted(quoted: string): string {
  return quoted.slice(1, -1).replace(/\\(.)/g, (_, character: string) => (character === "n" ? "\n" : character));
}

const quote = (text: string) => JSON.stringify(text);

/** Undefined for what cannot be said. */
export function writeDo(action: DoAction): string | undefined {
  if ("answer" in action) return `exit(message=${quote(action.answer)})`;
  switch (action.tool) {
    case "browser_click":
      return `do(action=${quote(action.button === "right" ? "Right Click" : "Click")}, element=${quote(action.target)})`;
    case "browser_hover":
      return `do(action="Hover", element=${quote(action.target)})`;
    case "browser_type":
      return `do(action=${quote(action.submit ? "Search" : "Type")}, argument=${quote(action.text)}, element=${quote(action.target)})`;
    case "browser_select_option":
      return `do(action="Select Dropdown Option", argument=${quote(action.values[0] ?? "")}, element=${quote(action.target)})`;
    case "browser_navigate":
      return `do(action="Go To", argument=${quote(action.url)})`;
    case "browser_navigate_back":
      return "go_backward()";
    case "browser_navigate_forward":
      return "go_forward()";
    case "browser_fill_form":
      return undefined;
    case "browser_press_key":
      return action.key === "PageDown"
        ? 'do(action="Scroll Down")'
        : action.key === "PageUp"
          ? 'do(action="Scroll Up")'
          : 'do(action="Press Enter")';
    case "browser_wait_for":
    case "browser_snapshot":
      return 'do(action="Wait")';
    default:
      return action satisfies never;
  }
}

export const doIntroduction = [
  "You use web pages. Each turn, answer with one action:",
  'do(action="Click", element="e7"); do(action="Type", argument="text", element="e7"); do(action="Search", argument="text", element="e7");',
  'do(action="Select Dropdown Option", argument="text", element="e7"); do(action="Hover", element="e7"); do(action="Press Enter");',
  'do(action="Scroll Up"); do(action="Scroll Down"); do(action="Go To", argument="address"); do(action="Wait"); go_backward(); go_forward();',
  'exit(message="the answer") when you are done. An element is named by its ref.',
].join("\n");
