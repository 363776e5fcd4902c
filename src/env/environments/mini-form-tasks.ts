import { defined } from "../../defined.ts";
import type { Rng } from "../../random.ts";
import { draw, pick } from "./draw.ts";
import type { Style } from "./moves.ts";

export const formKinds = [
  "click-button",
  "enter-text",
  "click-checkboxes",
  "login-user",
  "choose-list",
  "navigate-tree",
] as const;
export type FormKind = (typeof formKinds)[number];

/** One element of a page; what a folder holds is there once the folder is open. */
export interface FormElement {
  readonly ref: number;
  readonly tag: "text" | "input" | "button" | "checkbox" | "option" | "folder" | "file";
  readonly text: string;
  readonly folder?: number;
}

export interface FormTask {
  readonly kind: FormKind;
  readonly instruction: Readonly<Record<Style, string>>;
  readonly elements: readonly FormElement[];
  /** A click on one of these ends the episode; it succeeds where `texts` and `chosen` are met. */
  readonly ends: readonly number[];
  /** What must be written, by ref. */
  readonly texts: Readonly<Record<string, string>>;
  /** What must be checked or chosen, and nothing else. */
  readonly chosen: readonly number[];
}

const buttonWords = ["submit", "ok", "cancel", "yes", "no", "next", "back", "close"];
const syllables = [..."bdfgklmnprstvz"].flatMap((onset) => [..."aeiou"].map((vowel) => onset + vowel));
/**
 * Words of two syllables, so many that copying what is asked for is easier to learn than each of them by heart. With twenty, policies learned
 * the words of training and wrote others wrong.
 */
const words = Array.from({ length: 600 }, (_, i) => {
  const turn = Math.floor(i / syllables.length);
  return syllables[i % syllables.length] + syllables[(17 * i + 5 * turn + 3) % syllables.length];
});

type Made = Omit<FormTask, "kind">;
const none = { texts: {}, chosen: [] };

export function makeForm(rng: Rng, kind: FormKind): FormTask {
  return { kind, ...makers[kind](rng) };
}

const makers: Readonly<Record<FormKind, (rng: Rng) => Made>> = {
  "click-button": clickButton,
  "enter-text": enterText,
  "click-checkboxes": clickCheckboxes,
  "login-user": loginUser,
  "choose-list": chooseList,
  "navigate-tree": navigateTree,
};

/** Six things, a third of them text, a third fields, the others buttons; drawn again while there is no button. */
function clickButton(rng: Rng): Made {
  const elements = Array.from({ length: 6 }, (_, index): FormElement => {
    const chance = rng.next();
    const tag = chance < 0.33 ? "text" : chance < 0.66 ? "input" : "button";
    const word = pick(rng, buttonWords);
    const label = rng.next() < 0.5 ? word : word.charAt(0).toUpperCase() + word.slice(1);
    return { ref: index + 1, tag, text: tag === "input" ? "" : label };
  });
  const buttons = elements.filter(({ tag }) => tag === "button");
  if (buttons.length === 0) return clickButton(rng);
  const { text } = pick(rng, buttons);
  return {
    instruction: { tags: `Click on the "${text}" button.`, compact: `click ${text}` },
    elements,
    ends: buttons.filter((button) => button.text === text).map(({ ref }) => ref),
    ...none,
  };
}

function enterText(rng: Rng): Made {
  const [text = ""] = draw(rng, words, 1);
  return {
    instruction: { tags: `Enter "${text}" into the text field and press Submit.`, compact: `enter ${text}` },
    elements: [
      { ref: 1, tag: "input", text: "" },
      { ref: 2, tag: "button", text: "Submit" },
    ],
    ends: [2],
    texts: { 1: text },
    chosen: [],
  };
}

/** Two to six boxes, of which any number is asked for, none included. */
function clickCheckboxes(rng: Rng): Made {
  const boxes = draw(rng, words, 2 + rng.integer(5)).map(
    (text, index): FormElement => ({ ref: index + 1, tag: "checkbox", text }),
  );
  const wanted = boxes.filter(() => rng.next() < 0.5);
  const named = wanted.map(({ text }) => text);
  const submit: FormElement = { ref: boxes.length + 1, tag: "button", text: "Submit" };
  return {
    instruction: {
      tags: `Select ${named.join(", ") || "nothing"} and click Submit.`,
      compact: `check ${named.join(" ") || "none"}`,
    },
    elements: [...boxes, submit],
    ends: [submit.ref],
    texts: {},
    chosen: wanted.map(({ ref }) => ref),
  };
}

function loginUser(rng: Rng): Made {
  const [user = "", password = ""] = draw(rng, words, 2);
  return {
    instruction: {
      tags: `Enter the username "${user}" and the password "${password}" into the text fields and press login.`,
      compact: `login ${user} ${password}`,
    },
    elements: [
      { ref: 1, tag: "input", text: "username" },
      { ref: 2, tag: "input", text: "password" },
      { ref: 3, tag: "button", text: "Login" },
    ],
    ends: [3],
    texts: { 1: user, 2: password },
    chosen: [],
  };
}

function chooseList(rng: Rng): Made {
  const options = draw(rng, words, 3 + rng.integer(4)).map(
    (text, index): FormElement => ({ ref: index + 1, tag: "option", text }),
  );
  const wanted = pick(rng, options);
  const submit: FormElement = { ref: options.length + 1, tag: "button", text: "Submit" };
  return {
    instruction: { tags: `Select ${wanted.text} from the list and click Submit.`, compact: `choose ${wanted.text}` },
    elements: [...options, submit],
    ends: [submit.ref],
    texts: {},
    chosen: [wanted.ref],
  };
}

/** Eight folders and files, two levels below the first; any of them may be the one to find. */
function navigateTree(rng: Rng): Made {
  const elements: FormElement[] = [];
  for (const [index, text] of draw(rng, words, 8).entries()) {
    const folders = elements.filter(({ tag, folder }) => tag === "folder" && depthOf(elements, folder) < 2);
    const folder = index < 2 ? undefined : folders[rng.integer(folders.length + 1)]?.ref;
    const tag = index === 0 || rng.next() < 0.5 ? "folder" : "file";
    elements.push({ ref: index + 1, tag, text, ...defined({ folder }) });
  }
  const { ref, text } = pick(rng, elements);
  return {
    instruction: { tags: `Find and click on the folder or file named "${text}".`, compact: `find ${text}` },
    elements,
    ends: [ref],
    ...none,
  };
}

function depthOf(elements: readonly FormElement[], folder: number | undefined): number {
  const parent = elements.find(({ ref }) => ref === folder);
  return parent === undefined ? 0 : 1 + depthOf(elements, parent.folder);
}
