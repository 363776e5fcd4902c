import { createRng, type Rng } from "../../../random.ts";
import { ToolError } from "../../../tool/tool.ts";
import { pick } from "../../environments/draw.ts";
import { DomPage } from "../dom-page.ts";
import { type FormField, type PageAction, type PageDriver, viewText } from "../page-driver.ts";
import type { PageSource } from "../page-source.ts";
import { SiteBackend } from "../site-backend.ts";
import { shippedSites } from "../sites/index.ts";
import { passwordOf } from "../sites/site.ts";
import { people } from "../sites/words.ts";
import { readSnapshot, type SnapshotElement } from "../snapshot-view.ts";

export interface Difference {
  readonly action: PageAction;
  readonly real: string;
  readonly dom: string;
}

export interface Walk {
  readonly steps: number;
  readonly same: number;
  readonly difference?: Difference;
}

// what is hard to write in YAML, in HTML or in a field
const hardTexts = [
  "hello: world",
  "- x",
  "12",
  "  two  spaces ",
  "{a}",
  "yes",
  "line\nbreak",
  "\"q\" 'r'",
  "a #b",
  "é ☃",
  "",
  "<b>&amp;",
];

/** The same random actions on pages of a source and on pages without a browser, until the two differ. */
export async function walkBoth(source: PageSource, seed: number, steps: number, signal: AbortSignal): Promise<Walk> {
  const rng = createRng(seed);
  const [realBackend, domBackend] = [new SiteBackend(seed), new SiteBackend(seed)];
  const real = await source.open(realBackend);
  const dom = new DomPage(domBackend);
  const all = Object.values(shippedSites);
  const home = `http://${all[seed % all.length].host}/`;
  let action: PageAction = { tool: "browser_navigate", url: home };
  try {
    for (let step = 0; step < steps; step++) {
      const texts: { real: string; dom: string } = {
        real: await told(real, action, signal),
        dom: await told(dom, action, signal),
      };
      const isSame = texts.real === texts.dom && JSON.stringify(realBackend.data) === JSON.stringify(domBackend.data);
      if (!isSame) return { steps: step + 1, same: step, difference: { action, ...texts } };
      action = step % 20 === 19 ? { tool: "browser_navigate", url: `${home}login` } : drawAction(rng, texts.dom, home);
    }
    return { steps, same: steps };
  } finally {
    await real.close();
  }
}

async function told(page: PageDriver, action: PageAction, signal: AbortSignal): Promise<string> {
  try {
    return viewText(await page.act(action, signal));
  } catch (error) {
    if (error instanceof ToolError) return error.message;
    throw error;
  }
}

function drawAction(rng: Rng, text: string, home: string): PageAction {
  const all = readSnapshot(text).flatMap((element) =>
    element.ref === undefined ? [] : [{ ...element, target: element.ref }],
  );
  const elements = all.filter(({ role }) => ["link", "button", "textbox", "combobox", "checkbox"].includes(role));
  const chance = rng.next();
  if (elements.length === 0) return { tool: "browser_navigate", url: home };
  if (chance < 0.06) return { tool: "browser_navigate_back" };
  if (chance < 0.09) return { tool: "browser_navigate_forward" };
  if (chance < 0.11) return { tool: "browser_wait_for", text: pick(rng, ["Log in", "shop", "absent"]) };
  if (chance < 0.13) return fillForm(rng, elements);
  if (chance < 0.17) return { tool: "browser_press_key", key: pick(rng, ["Enter", "a", "Backspace"]) };
  if (chance < 0.19) return { tool: "browser_click", target: "e999" };
  if (chance < 0.22)
    return {
      tool: "browser_click",
      target: pick(
        rng,
        all.filter(({ role }) => role === "heading"),
      ).target,
    };
  const { role, target, options, name } = pick(rng, elements);
  if (role === "combobox") return { tool: "browser_select_option", target, values: [pick(rng, options)] };
  if (role !== "textbox") return { tool: "browser_click", target };
  const user = pick(rng, people);
  const known =
    name === "User" ? [people[0]] : name === "Password" ? [passwordOf(people[0])] : [user, name, ...hardTexts];
  return { tool: "browser_type", target, text: pick(rng, known), submit: rng.next() < 0.2 };
}

/** All fields of a page at once, one of them in vain now and then. */
function fillForm(rng: Rng, elements: readonly (SnapshotElement & { readonly target: string })[]): PageAction {
  const fields = elements.flatMap(({ role, target, name, options }): FormField[] => {
    if (role === "combobox") return [{ target, name, type: "combobox", value: pick(rng, options) }];
    if (role === "checkbox") return [{ target, name, type: "checkbox", value: String(rng.next() < 0.5) }];
    if (role !== "textbox") return [];
    const type = rng.next() < 0.1 ? "checkbox" : "textbox";
    return [{ target, name, type, value: pick(rng, hardTexts) }];
  });
  return { tool: "browser_fill_form", fields };
}
