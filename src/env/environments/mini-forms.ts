import { defined } from "../../defined.ts";
import { type KnownOptions, refuseUnknownOptions } from "../../known-options.ts";
import { plain } from "../../policy/formats/plain.ts";
import { thinkAnswer } from "../../policy/formats/think-answer.ts";
import { makeScore } from "../../schema/score.ts";
import { generated } from "../../task/generated.ts";
import { defineEnv } from "../define-env.ts";
import type { ActContext, Acted, Env, ExpertContext } from "../env.ts";
import { checkWholeOptions } from "./check-options.ts";
import { boxOf, type MiniFormsState, type Step, shownElements, take } from "./mini-form-page.ts";
import { type FormElement, type FormKind, type FormTask, formKinds, makeForm } from "./mini-form-tasks.ts";
import type { Style } from "./moves.ts";

export interface MiniFormsOptions {
  style: Style;
  /** Which kinds of page there are, each as often as the others. */
  kinds: readonly FormKind[];
  /** `binary`: 1 or -1. `proportional`: the reward shrinks by 1 / turns with each turn; MiniWoB measures seconds. */
  reward: "binary" | "proportional";
  turns: number;
  seed: number;
}

const knownMiniFormsOptions: KnownOptions<MiniFormsOptions> = {
  style: true,
  kinds: true,
  reward: true,
  turns: true,
  seed: true,
};

const defaults: MiniFormsOptions = { style: "compact", kinds: formKinds, reward: "binary", turns: 10, seed: 0 };

/**
 * Pages in the manner of MiniWoB: buttons, fields, boxes, lists and trees. A wrong button or file loses at once; running out
 * of turns loses too.
 */
export function miniForms(options: Partial<MiniFormsOptions> = {}): Env<FormTask, MiniFormsState> {
  refuseUnknownOptions("miniForms", options, knownMiniFormsOptions);
  const { style, kinds, reward, turns, seed } = { ...defaults, ...options };
  checkWholeOptions("mini-forms", { turns: [turns, 1, 1000], "kinds.length": [kinds.length, 1, formKinds.length] });
  return defineEnv<FormTask, MiniFormsState>({
    name: "mini-forms",
    description: "Click, fill in, choose and find on small pages",
    tasks: generated((rng) => makeForm(rng, kinds[rng.integer(kinds.length)]), {
      name: "mini-forms",
      seed,
      key: (task) => JSON.stringify(task),
    }),
    ...defined({ system: style === "tags" ? introduction : undefined }),
    start({ task }) {
      const state: MiniFormsState = {
        task,
        texts: {},
        chosen: new Set<number>(),
        open: new Set<number>(),
        focus: undefined,
        end: undefined,
      };
      return { state, say: `${task.instruction[style]}\n${show(state, style)}` };
    },
    act: (context) => act(context, style),
    score({ state, turns: taken }) {
      if (state.end !== "won") return makeScore({ outcome: -1 }, false);
      return makeScore({ outcome: reward === "binary" ? 1 : Math.max(0, 1 - (taken.length - 1) / turns) }, true);
    },
    expert: ({ state }) => write(nextStep(state), style),
    actions: (context) => listActions(context, style),
    stateKey: ({ task, texts, chosen, open, focus }) =>
      JSON.stringify([task.instruction.compact, texts, [...chosen].sort(), [...open].sort(), focus ?? 0]),
    limits: { turns, turnTokens: style === "tags" ? 256 : 24 },
    format: style === "tags" ? thinkAnswer() : plain(),
  });
}

const names = {
  tags: {
    click: "CLICK_ELEMENT",
    point: "CLICK_COORDS",
    fill: "FOCUS_ELEMENT_AND_TYPE_TEXT",
    type: "TYPE_TEXT",
    key: "PRESS_KEY",
  },
  compact: { click: "click", point: "point", fill: "fill", type: "type", key: "key" },
} as const;

function write(step: Step, style: Style): string {
  const { do: what, ...rest } = step;
  return [names[style][what], ...Object.values(rest)].join(" ");
}

function readStep(answer: string, style: Style): Step | undefined {
  const [, name = "", rest = ""] = /^(\S+)\s*(.*)$/s.exec(answer.trim()) ?? [];
  const [, first = "", second = ""] = /^(\d{1,4})(?:\s+(.+))?$/s.exec(rest) ?? [];
  switch (name) {
    case names[style].click:
      return first === "" || second !== "" ? undefined : { do: "click", ref: Number(first) };
    case names[style].point:
      return /^\d{1,4}$/.test(second) ? { do: "point", x: Number(first), y: Number(second) } : undefined;
    case names[style].fill:
      return second === "" ? undefined : { do: "fill", ref: Number(first), text: second };
    case names[style].type:
      return rest === "" ? undefined : { do: "type", text: rest };
    case names[style].key:
      return rest === "" ? undefined : { do: "key", key: rest };
    default:
      return undefined;
  }
}

function act({ state, answer }: ActContext<FormTask, MiniFormsState>, style: Style): Acted {
  const step = readStep(answer, style);
  const info = { isValid: step !== undefined };
  if (step === undefined) {
    const problem = style === "tags" ? `That is no action. Actions: ${Object.values(names.tags).join(", ")}.` : "?";
    return { say: `${problem}\n${show(state, style)}`, info };
  }
  take(state, step);
  return { say: show(state, style), done: state.end !== undefined, info };
}

function show(state: MiniFormsState, style: Style): string {
  const shown = shownElements(state);
  return shown
    .map(({ ref, tag, text }, index) => {
      const value = state.texts[ref] === undefined ? "" : `=${state.texts[ref]}`;
      const mark = state.chosen.has(ref) || state.open.has(ref) ? "+" : state.focus === ref ? "*" : "";
      if (style === "compact") return [ref, tag, `${text}${value}${mark}`].join(" ").trim();
      return `[${ref}] ${tag}${mark} "${text}${value}" (${boxOf(shown, index).join(", ")})`;
    })
    .join("\n");
}

/** Writes what is missing, sets what is not as it should be, opens folders on the way, and clicks what ends it. */
function nextStep(state: MiniFormsState): Step {
  const { task, texts, chosen } = state;
  const missing = Object.entries(task.texts).find(([ref, text]) => texts[ref] !== text);
  if (missing !== undefined) return { do: "fill", ref: Number(missing[0]), text: missing[1] };
  const isWrong = ({ ref, tag }: FormElement) =>
    task.chosen.includes(ref) ? !chosen.has(ref) : tag === "checkbox" && chosen.has(ref);
  const unset = task.elements.find(isWrong);
  if (unset !== undefined) return { do: "click", ref: unset.ref };
  const shown = new Set(shownElements(state).map(({ ref }) => ref));
  let ref = task.ends[0];
  while (!shown.has(ref)) ref = task.elements.find((element) => element.ref === ref)!.folder!;
  return { do: "click", ref };
}

function listActions({ task, state }: ExpertContext<FormTask, MiniFormsState>, style: Style): string[] {
  const steps = shownElements(state).flatMap(({ ref, tag }): Step[] => {
    const fills = Object.values(task.texts).map((text): Step => ({ do: "fill", ref, text }));
    return tag === "input" ? [{ do: "click", ref }, ...fills] : [{ do: "click", ref }];
  });
  return steps.map((step) => write(step, style));
}

const introduction = [
  "You use a page of 160 by 210 pixels. Each element is told with its number, tag, text and box: left, top, right, bottom.",
  "+: checked, chosen or open. *: the field that is written in.",
  "Actions: CLICK_ELEMENT number, CLICK_COORDS x y, FOCUS_ELEMENT_AND_TYPE_TEXT number text, TYPE_TEXT text, PRESS_KEY key.",
  "Answer with one action, like <answer>CLICK_ELEMENT 3</answer>.",
].join("\n");
