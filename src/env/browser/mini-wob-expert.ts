import type { PageAction } from "./page-driver.ts";
import { readSnapshot, type SnapshotElement } from "./snapshot-view.ts";

/** What to write into the fields of a page in their order, what to choose, and what to click in the end. */
interface Plan {
  readonly write?: readonly string[];
  readonly check?: readonly string[];
  readonly choose?: string;
  readonly click: string;
}

type Reader = readonly [RegExp, (found: readonly string[]) => Plan];

const readers: readonly Reader[] = [
  [/^Click on the "(.*)" button\.$/, ([, name]) => ({ click: name })],
  [/^Click on the link "(.*)"\.$/, ([, name]) => ({ click: name })],
  [/^Click the button\.$/, () => ({ click: "Click Me!" })],
  [/^Click button ONE\.$/, () => ({ click: "ONE" })],
  [/^Click the button in the dialog box labeled "(.*)"\.$/, ([, name]) => ({ click: name })],
  [/^Click on Tab #(\d+)\.$/, ([, number]) => ({ click: `Tab #${number}` })],
  [/^Enter "(.*)" into the text field and press Submit\.$/, ([, text]) => ({ write: [text], click: "Submit" })],
  [
    /^Enter the password "(.*)" into both text fields and press submit\.$/,
    ([, text]) => ({ write: [text, text], click: "Submit" }),
  ],
  [
    /^Enter the username "(.*)" and the password "(.*)" into the text fields and press login\.$/,
    ([, user, password]) => ({ write: [user, password], click: "Login" }),
  ],
  [/^Select nothing and click Submit\.$/, () => ({ check: [], click: "Submit" })],
  [/^Select (.*) from the list and click Submit\.$/, ([, name]) => ({ choose: name, click: "Submit" })],
  [/^Select (.*) and click Submit\.$/, ([, names]) => ({ check: names.split(", "), click: "Submit" })],
];

/** For pages whose task can be read in a line; undefined for all others. */
export function miniWobExpert(asked: string, snapshot: string): PageAction | undefined {
  const plan = readers.flatMap(([pattern, make]) => {
    const found = pattern.exec(asked.trim());
    return found === null ? [] : [make(found)];
  })[0];
  if (plan === undefined) return undefined;
  const elements = readSnapshot(snapshot);
  return writing(plan, elements) ?? choosing(plan, elements) ?? clicking(plan.click, elements);
}

function writing({ write = [] }: Plan, elements: readonly SnapshotElement[]): PageAction | undefined {
  const fields = elements.filter(({ role }) => role === "textbox");
  const index = write.findIndex((text, at) => fields[at] !== undefined && fields[at].value !== text);
  const target = fields[index]?.ref;
  return target === undefined ? undefined : { tool: "browser_type", target, text: write[index] };
}

function choosing({ check, choose }: Plan, elements: readonly SnapshotElement[]): PageAction | undefined {
  const list = elements.find(({ role }) => role === "combobox");
  if (choose !== undefined && list?.ref !== undefined && list.value !== choose)
    return { tool: "browser_select_option", target: list.ref, values: [choose] };
  const boxes = elements.filter(({ role }) => role === "checkbox" || role === "radio");
  // a box that has no name of its own is named by the text after it
  const nameOf = (box: SnapshotElement) => box.name || nextText(elements, box);
  const wrong = boxes.find((box) => check !== undefined && check.includes(nameOf(box)) !== box.isChecked);
  return wrong?.ref === undefined ? undefined : { tool: "browser_click", target: wrong.ref };
}

function nextText(elements: readonly SnapshotElement[], box: SnapshotElement): string {
  const next = elements[elements.indexOf(box) + 1];
  return next?.role === "text" ? next.value : "";
}

function clicking(name: string, elements: readonly SnapshotElement[]): PageAction | undefined {
  const named = elements.findLast(
    (element) => element.ref !== undefined && (element.name === name || element.value === name),
  );
  return named?.ref === undefined ? undefined : { tool: "browser_click", target: named.ref };
}
