// Actions in few words, for small models: elements are called by their names, which tasks mention, and not by refs, which must be looked up.

import type { DoAction } from "./do-actions.ts";
import type { PageAction } from "./page-driver.ts";
import { readSnapshot, type SnapshotElement } from "./snapshot-view.ts";

/** Where two elements have the same name, the one whose role comes first is meant, and of those the first on the page. */
const clicked = ["button", "checkbox", "radio", "link"];

function named(snapshot: string, name: string, roles: readonly string[]): string | undefined {
  const elements = readSnapshot(snapshot).filter((element) => element.name === name && element.ref !== undefined);
  const byRole = roles.map((role) => elements.find((element) => element.role === role));
  return byRole.find((element) => element !== undefined)?.ref;
}

const sentence = /^\s*(click|type|search|choose|go|back|say)(?: ([\s\S]*?))?\s*$/;

/** Undefined where it is no action, or names nothing on the page. */
export function readNamed(text: string, snapshot: string): DoAction | undefined {
  const [, verb, rest = ""] = sentence.exec(text) ?? [];
  const [, name = "", value = ""] = /^(.*?): ?([\s\S]*)$/.exec(rest) ?? [];
  switch (verb) {
    case "click":
      return on(named(snapshot, rest, clicked), (target) => ({ tool: "browser_click", target }));
    case "type":
      return on(named(snapshot, name, ["textbox"]), (target) => ({ tool: "browser_type", target, text: value }));
    case "search":
      return on(named(snapshot, name, ["textbox"]), (target) => ({
        ...{ tool: "browser_type", target, text: value, submit: true },
      }));
    case "choose":
      return on(named(snapshot, name, ["combobox"]), (target) => ({
        ...{ tool: "browser_select_option", target, values: [value] },
      }));
    case "go":
      return { tool: "browser_navigate", url: rest };
    case "back":
      return { tool: "browser_navigate_back" };
    case "say":
      return { answer: rest };
    default:
      return undefined;
  }
}

function on(target: string | undefined, make: (target: string) => PageAction): PageAction | undefined {
  return target === undefined ? undefined : make(target);
}

/** Undefined where an action cannot be said by name: its element has none, or another one is called so first. */
export function writeNamed(action: DoAction, snapshot: string): string | undefined {
  const text = wordsOf(action, readSnapshot(snapshot));
  if (text === undefined) return undefined;
  return JSON.stringify(readNamed(text, snapshot)) === JSON.stringify(action) ? text : undefined;
}

function wordsOf(action: DoAction, elements: readonly SnapshotElement[]): string | undefined {
  if ("answer" in action) return `say ${action.answer}`;
  const name = "target" in action ? elements.find(({ ref }) => ref === action.target)?.name : "";
  switch (action.tool) {
    case "browser_click":
      return `click ${name}`;
    case "browser_type":
      return `${action.submit ? "search" : "type"} ${name}: ${action.text}`;
    case "browser_select_option":
      return `choose ${name}: ${action.values[0] ?? ""}`;
    case "browser_navigate":
      return `go ${action.url}`;
    case "browser_navigate_back":
      return "back";
    case "browser_navigate_forward":
    case "browser_fill_form":
    case "browser_wait_for":
    case "browser_hover":
    case "browser_press_key":
    case "browser_snapshot":
      return undefined;
    default:
      return action satisfies never;
  }
}

export const nameIntroduction = [
  "You use web pages. Each turn, answer with one line:",
  "click NAME; type NAME: text; search NAME: text; choose NAME: option; go ADDRESS; back;",
  "say ANSWER when you are done. NAME is the name of a link, button or field on the page.",
].join("\n");
