import { defined } from "../../defined.ts";
import { LudusError } from "../../errors.ts";
import { type KnownOptions, refuseUnknownOptions } from "../../known-options.ts";
import type { WantToSay } from "../../policy/call-format.ts";
import { plain } from "../../policy/formats/plain.ts";
import { thinkAnswer } from "../../policy/formats/think-answer.ts";
import { createRng, type Rng } from "../../random.ts";
import { makeScore } from "../../schema/score.ts";
import { generated } from "../../task/generated.ts";
import type { McpServer } from "../../tool/mcp-server.ts";
import { ToolError } from "../../tool/tool.ts";
import { defineEnv, type EnvDefinition } from "../define-env.ts";
import type { ActContext, Acted, Env } from "../env.ts";
import { checkWholeOptions } from "../environments/check-options.ts";
import { pick } from "../environments/draw.ts";
import { describeActions, readAction, writeAction } from "../environments/screen-actions.ts";
import { nextAction } from "./browser-expert.ts";
import { type BrowserTask, isMet, type TaskKind } from "./browser-tasks.ts";
import { browserTools } from "./browser-tools.ts";
import type { ChromiumOptions } from "./chromium-options.ts";
import { byCoordinates } from "./computer-actions.ts";
import { type DoAction, doIntroduction, readDo, writeDo } from "./do-actions.ts";
import type { PageAction, PageDriver, PageView } from "./page-driver.ts";
import { chromiumPages, domPages, mcpPages, type PageSource } from "./page-source.ts";
import { possibleActions } from "./possible-actions.ts";
import { SiteBackend } from "./site-backend.ts";
import { type SiteName, siteNames, sites } from "./sites/index.ts";
import { prefixOf, showView, type ViewStyle } from "./snapshot-text.ts";
import { taskKinds } from "./task-kinds.ts";

export interface BrowserEnvOptions {
  /** The sites without a browser, in Chromium, or in the browser of a server of `@playwright/mcp`, started for each episode. */
  pages: "dom" | "chromium" | { readonly mcp: McpServer };
  chromium: Partial<ChromiumOptions>;
  /** Tools of `@playwright/mcp`, WebAgent-R1's `do(...)` in words, or Computer Use's actions by coordinates, in Chromium only. */
  actions: "playwright" | "do" | "computer-use";
  view: ViewStyle;
  /** Tokens of a view at most, at four characters for each. */
  viewTokens: number;
  sites: readonly SiteName[];
  /** 1: one page. 2: a form or a login. 3: several pages and forms. */
  levels: readonly (1 | 2 | 3)[];
  turns: number;
  /** For each action in a browser. */
  actionMs: number;
  seed: number;
}

const knownBrowserEnvOptions: KnownOptions<BrowserEnvOptions> = {
  pages: true,
  chromium: true,
  actions: true,
  view: true,
  viewTokens: true,
  sites: true,
  levels: true,
  turns: true,
  actionMs: true,
  seed: true,
};

const defaults: BrowserEnvOptions = {
  pages: "dom",
  chromium: {},
  actions: "playwright",
  view: "full",
  viewTokens: 2000,
  sites: siteNames,
  levels: [1, 2, 3],
  turns: 20,
  actionMs: 5000,
  seed: 0,
};

export interface BrowserEnvTask extends BrowserTask {
  /** Seed that the kind draws from: with `world` it gives the task again. */
  readonly draw: number;
}

export interface BrowserEnvState {
  readonly backend: SiteBackend;
  readonly page: PageDriver;
  view: PageView;
}

const worlds = 1 << 20;

/**
 * Tasks on three small sites with logins, in a browser or without one: the texts are the same. Solved where all rules of the task hold in
 * the end: address, answer, data of the back end. The split `new-kinds` has kinds of tasks that training does not.
 */
export function browserEnv(options: Partial<BrowserEnvOptions> = {}): Env<BrowserEnvTask, BrowserEnvState> {
  refuseUnknownOptions("browserEnv", options, knownBrowserEnvOptions);
  const chosen = { ...defaults, ...options };
  const { actions, turns, seed } = chosen;
  checkWholeOptions("browser", {
    turns: [turns, 1, 1000],
    viewTokens: [chosen.viewTokens, 50, 1_000_000],
    actionMs: [chosen.actionMs, 1, 600_000],
  });
  const kinds = taskKinds.filter(({ site, level }) => chosen.sites.includes(site) && chosen.levels.includes(level));
  const source = sourceOf(chosen);
  const tell = (state: BrowserEnvState, view: PageView) => {
    const text = showView(view, state.view, { style: chosen.view, viewTokens: chosen.viewTokens });
    state.view = view;
    return text;
  };
  const perform = async (state: BrowserEnvState, action: PageAction, signal: AbortSignal) =>
    tell(state, await state.page.act(withPrefix(action, state.view.snapshot), signal));
  const common: Omit<EnvDefinition<BrowserEnvTask, BrowserEnvState>, "tools" | "act" | "expert" | "actions"> = {
    name: "browser",
    description: "Find, write and change things on three small web sites with logins",
    tasks: generated((rng, split) => makeTask(rng, chosenKinds(kinds, split)), {
      name: "browser",
      seed,
      splits: ["train", "test", "new-kinds"],
      key: ({ instruction, world }) => `${world % 64} ${instruction}`,
    }),
    async start({ task, signal }) {
      const backend = prepare(task);
      const page = await source.open(backend);
      try {
        const view = await page.act({ tool: "browser_navigate", url: task.start }, signal);
        const shown = showView(view, undefined, { style: chosen.view, viewTokens: chosen.viewTokens });
        return { state: { backend, page, view }, say: `${task.instruction}\n\n${shown}` };
      } catch (error) {
        await page.close();
        throw error;
      }
    },
    score({ task, state, answer }) {
      const end = { url: state.view.url, answer, data: state.backend.data[task.site] };
      const met = task.rules.filter((rule) => isMet(rule, end)).length;
      return makeScore({ outcome: met === task.rules.length ? 1 : 0 });
    },
    stateKey: ({ view, backend }) => `${view.url}|${view.snapshot}|${JSON.stringify(backend.data)}`,
    close: ({ page }) => page.close(),
    limits: {
      turns,
      tokens: 32_768,
      turnTokens: 256,
      toolMs: chosen.actionMs * 4,
      envMs: Math.max(60_000, chosen.actionMs * 4),
      observationChars: chosen.viewTokens * 4 + 2000,
    },
  };
  if (actions === "do") return doEnv(common, chosen, perform);
  if (actions === "computer-use") return computerEnv(common, chosen, tell);
  return defineEnv({
    ...common,
    system:
      "You use web pages with tools. Each answers with the page as it is then. When the task is done, answer in words without a call.",
    tools: (tool) => browserTools<BrowserEnvState>(tool, (action, { state, signal }) => perform(state, action, signal)),
    expert: ({ task, state }) => toCall(withoutPrefix(nextAction(task, state), chosen.view)),
    actions: ({ task, state }) =>
      possibleActions(task, state).map((action) => toCall(withoutPrefix(action, chosen.view))),
  });
}

type Common = Omit<EnvDefinition<BrowserEnvTask, BrowserEnvState>, "tools" | "act" | "expert" | "actions">;
type Perform = (state: BrowserEnvState, action: PageAction, signal: AbortSignal) => Promise<string>;

function doEnv(common: Common, { view }: BrowserEnvOptions, perform: Perform): Env<BrowserEnvTask, BrowserEnvState> {
  const act = async ({ state, answer, signal }: ActContext<BrowserEnvTask, BrowserEnvState>): Promise<Acted> => {
    const action = readDo(answer);
    if (action === undefined) return { say: "Error: invalid action", info: { isValid: false } };
    if ("answer" in action) return { done: true, info: { isValid: true } };
    try {
      return { say: await perform(state, action, signal), info: { isValid: true } };
    } catch (error) {
      if (error instanceof ToolError) return { say: error.message, info: { isValid: false } };
      throw error;
    }
  };
  return defineEnv<BrowserEnvTask, BrowserEnvState>({
    ...common,
    ...defined({ system: view === "compact" ? undefined : doIntroduction }),
    act,
    score: (episode) => {
      const said = readDo(episode.answer);
      const answer = said !== undefined && "answer" in said ? said.answer : "";
      return common.score!({ ...episode, answer });
    },
    expert: ({ task, state }) => writeDo(withoutPrefix(nextAction(task, state), view)),
    actions: ({ task, state }) => possibleActions(task, state).map((action) => writeDo(withoutPrefix(action, view))),
    format: view === "compact" ? plain() : thinkAnswer(),
  });
}

/** Actions are JSON; whatever else is said is the answer, and ends the episode. */
function computerEnv(
  common: Common,
  { pages }: BrowserEnvOptions,
  tell: (state: BrowserEnvState, view: PageView) => string,
): Env<BrowserEnvTask, BrowserEnvState> {
  if (pages !== "chromium") {
    throw new LudusError("bad-option", {
      got: 'actions "computer-use"',
      expected: 'them with pages "chromium", which have places',
    });
  }
  return defineEnv<BrowserEnvTask, BrowserEnvState>({
    ...common,
    system: `You use a screen of 1280 by 720 pixels. Each turn, answer with one action as JSON, or with the answer in words. Actions: ${describeActions("computer-use")}.`,
    async act({ state, answer }) {
      const action = readAction(answer, "tags", "computer-use");
      if (action === undefined) return { done: true };
      try {
        return { say: tell(state, await state.page.point!(action)) };
      } catch (error) {
        if (error instanceof ToolError) return { say: error.message, info: { isValid: false } };
        throw error;
      }
    },
    expert({ task, state }) {
      const wanted = nextAction(task, state);
      if ("answer" in wanted) return wanted.answer;
      const action = byCoordinates(wanted, state.view.snapshot, screenHeight);
      return action && writeAction(action, "tags", "computer-use");
    },
    format: thinkAnswer(),
  });
}

const screenHeight = 720;

function chosenKinds(kinds: readonly TaskKind[], split: string): readonly TaskKind[] {
  const fitting = kinds.filter(({ isHeldOut = false }) => isHeldOut === (split === "new-kinds"));
  if (fitting.length > 0) return fitting;
  throw new LudusError("bad-option", {
    got: `no kind of task for the split "${split}" with these sites and levels`,
    expected: "at least one",
    hint: `Kinds: ${taskKinds.map(({ name, level }) => `${name} (${level})`).join(", ")}`,
  });
}

function makeTask(rng: Rng, kinds: readonly TaskKind[]): BrowserEnvTask {
  const { name, site, level, make } = pick(rng, kinds);
  const [world, draw] = [rng.integer(worlds), rng.integer(worlds)];
  const made = make(createRng(draw), new SiteBackend(world));
  const start = `http://${sites[site].host}/`;
  return { world, draw, site, kind: name, level, start, answer: "done", ...made };
}

/** The sites as the task was made for them. */
function prepare({ world, draw, kind }: BrowserEnvTask): SiteBackend {
  const backend = new SiteBackend(world);
  taskKinds.find(({ name }) => name === kind)?.make(createRng(draw), backend);
  return backend;
}

function sourceOf({ pages, chromium, actionMs, actions }: BrowserEnvOptions): PageSource {
  if (pages === "dom") return domPages;
  if (pages === "chromium")
    return chromiumPages(chromium, { actionMs, maxSnapshotChars: 1 << 18, boxes: actions === "computer-use" });
  return mcpPages(pages.mcp);
}

/** Compact views have refs without the document's prefix: it is put back, so that both forms are understood. */
function withPrefix(action: PageAction, snapshot: string): PageAction {
  if (!("target" in action) || !/^e\d+$/.test(action.target)) return action;
  return { ...action, target: prefixOf(snapshot) + action.target };
}

function withoutPrefix<Action extends DoAction>(action: Action, view: ViewStyle): Action {
  if (view !== "compact" || !("target" in action)) return action;
  return { ...action, target: action.target.replace(/^f\d+/, "") };
}

function toCall(action: DoAction): WantToSay | string {
  if ("answer" in action) return action.answer;
  const { tool: name, ...input } = action;
  return { calls: [{ name, arguments: input }] };
}
