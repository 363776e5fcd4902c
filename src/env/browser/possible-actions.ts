import type { BrowserSituation } from "./browser-expert.ts";
import type { BrowserTask } from "./browser-tasks.ts";
import type { DoAction } from "./do-actions.ts";
import { readSnapshot } from "./snapshot-view.ts";

/** What may be done on the page: links and buttons, fields with the words the task is about, lists with their options. */
export function possibleActions(task: BrowserTask, { view }: BrowserSituation): DoAction[] {
  const texts = [...new Set(task.milestones.flatMap(({ write }) => Object.values(write)))];
  const actions = readSnapshot(view.snapshot).flatMap(({ role, ref: target, options }): DoAction[] => {
    if (target === undefined) return [];
    switch (role) {
      case "link":
      case "button":
      case "checkbox":
        return [{ tool: "browser_click", target }];
      case "textbox":
        return texts.map((text) => ({ tool: "browser_type", target, text }));
      case "combobox":
        return options.map((option) => ({ tool: "browser_select_option", target, values: [option] }));
      default:
        return [];
    }
  });
  return [...actions, { tool: "browser_navigate_back" }, { answer: task.answer }];
}
