import { createHash } from "node:crypto";
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
import { describeActions, readAction, type ScreenAction, writeAction } from "../environments/screen-actions.ts";
import { nextAction } from "./browser-expert.ts";
import { type BrowserTask, isMet, type TaskKind } from "./browser-tasks.ts";
import { browserTools } from "./browser-tools.ts";
import type { ChromiumOptions } from "./chromium-options.ts";
import { byCoordinates, insideRegion } from "./computer-actions.ts";
import { type DoAction, doIntroduction, readDo, writeDo } from "./do-actions.ts";
import { changesBetween, frameFacts } from "./film.ts";
import { nameIntroduction, readNamed, writeNamed } from "./name-actions.ts";
import type { PageAction, PageDriver, PageView } from "./page-driver.ts";
import { chromiumPages, domPages, mcpPages, type PageSource } from "./page-source.ts";
import { possibleActions } from "./possible-actions.ts";
import { SiteBackend } from "./site-backend.ts";
import { type Sites, shippedSites } from "./sites/index.ts";
import { hasShortRefs, prefixOf, type ShownView, showView, type ViewStyle } from "./snapshot-text.ts";
import { taskKinds } from "./task-kinds.ts";

export interface BrowserEnvOptions {
  /** The sites without a browser, in Chromium, or in the browser of a server of `@playwright/mcp`, started for each episode. */
  pages: "dom" | "chromium" | { readonly mcp: McpServer };
  chromium: Partial<ChromiumOptions>;
  /**
   * Tools of `@playwright/mcp`; WebAgent-R1's `do(...)` in words; a few words that call elements by their names, for small models; or Computer
   * Use's actions by coordinates, in Chromium only.
   */
  actions: "playwright" | "do" | "names" | "computer-use";
  view: ViewStyle;
  /** Tokens of a view at most, at four characters for each. */
  viewTokens: number;
  /** The sites and what is asked for on them: three that are shipped, or your own. */
  web: Web;
  /** Names of sites that tasks are about; all by default. */
  sites: readonly string[] | undefined;
  /** 1: one page. 2: a form or a login. 3: several pages and forms. */
  levels: readonly (1 | 2 | 3)[];
  turns: number;
  /** Whether turns keep a small picture of the page before them, for the dashboard. In Chromium, with actions in words. */
  film: boolean;
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
  web: true,
  sites: true,
  levels: true,
  turns: true,
  film: true,
  actionMs: true,
  seed: true,
};

const defaults: BrowserEnvOptions = {
  pages: "dom",
  chromium: {},
  actions: "playwright",
  view: "full",
  viewTokens: 2000,
  web: { sites: shippedSites, kinds: taskKinds },
  sites: undefined,
  levels: [1, 2, 3],
  turns: 20,
  film: false,
  actionMs: 5000,
  seed: 0,
};

/** Sites by name, and kinds of tasks, each of which names its site. */
export interface Web {
  readonly sites: Sites;
  readonly kinds: readonly TaskKind[];
}

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
  checkFilm(chosen);
  const { web } = chosen;
  const named = checkedSites(web, chosen.sites);
  const kinds = web.kinds.filter(({ site, level }) => named.includes(site) && chosen.levels.includes(level));
  const source = sourceOf(chosen);
  const shown = { style: chosen.view, viewTokens: chosen.viewTokens, refs: actions !== "names" };
  const tell = (state: BrowserEnvState, view: PageView) => {
    const text = showView(view, state.view, shown);
    state.view = view;
    return text;
  };
  const perform = async (state: BrowserEnvState, action: PageAction, signal: AbortSignal) =>
    tell(state, await state.page.act(withPrefix(action, state.view.snapshot), signal));
  const common: Omit<EnvDefinition<BrowserEnvTask, BrowserEnvState>, "tools" | "act" | "expert" | "actions"> = {
    name: "browser",
    description: "Find, write and change things on three small web sites with logins",
    tasks: generated((rng, split) => makeTask(rng, chosenKinds(kinds, split), web), {
      name: "browser",
      seed,
      splits: ["train", "test", "new-kinds"],
      key: ({ instruction, world }) => `${world % 64} ${instruction}`,
    }),
    async start({ task, signal }) {
      const backend = prepare(task, web);
      const page = await source.open(backend);
      try {
        const view = await page.act({ tool: "browser_navigate", url: task.start }, signal);
        const text = showView(view, undefined, shown);
        return { state: { backend, page, view }, say: `${task.instruction}\n\n${text}` };
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
    // every turn keeps it: pages and data are too long for that
    stateKey: ({ view, backend }) =>
      createHash("sha256")
        .update(`${view.url}|${view.snapshot}|${JSON.stringify(backend.data)}`)
        .digest("base64url"),
    copy({ backend, page, view }) {
      const data = backend.copy();
      if (page.copy !== undefined) return { backend: data, page: page.copy(data), view };
      throw new LudusError("not-copyable", {
        got: "a page in a browser",
        expected: 'pages "dom", which can be copied',
      });
    },
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
  if (actions === "do" || actions === "names") return wordsEnv(common, chosen, perform);
  if (actions === "computer-use") return computerEnv(common, chosen);
  return defineEnv({
    ...common,
    system:
      "You use web pages with tools. Each answers with the page as it is then. When the task is done, answer in words without a call.",
    tools: (tool) =>
      browserTools<BrowserEnvState>(
        tool,
        (action, { state, signal }) => perform(state, action, signal),
        ({ view }) => view,
      ),
    expert: ({ task, state }) => toCall(withoutPrefix(nextAction(task, state), chosen.view)),
    actions: ({ task, state }) =>
      possibleActions(task, state).map((action) => toCall(withoutPrefix(action, chosen.view))),
  });
}

type Common = Omit<EnvDefinition<BrowserEnvTask, BrowserEnvState>, "tools" | "act" | "expert" | "actions">;
type Perform = (state: BrowserEnvState, action: PageAction, signal: AbortSignal) => Promise<string>;

function filmed({ page, view }: BrowserEnvState, action: DoAction | undefined): Promise<Record<string, string>> {
  const whole = action === undefined || "answer" in action ? action : withPrefix(action, view.snapshot);
  return frameFacts(page, view, whole);
}

/** How actions are said. */
interface Language {
  read(text: string, view: PageView): DoAction | undefined;
  write(action: DoAction, view: PageView): string | undefined;
  readonly introduction: string;
}

function languageOf({ actions, view: style }: BrowserEnvOptions): Language {
  if (actions === "names") {
    return {
      read: (text, { snapshot }) => readNamed(text, snapshot),
      write: (action, { snapshot }) => writeNamed(action, snapshot),
      introduction: nameIntroduction,
    };
  }
  return { read: readDo, write: (action) => writeDo(withoutPrefix(action, style)), introduction: doIntroduction };
}

function wordsEnv(common: Common, options: BrowserEnvOptions, perform: Perform): Env<BrowserEnvTask, BrowserEnvState> {
  const language = languageOf(options);
  const isShort = hasShortRefs(options.view);
  const act = async ({ state, answer, signal }: ActContext<BrowserEnvTask, BrowserEnvState>): Promise<Acted> => {
    const action = language.read(answer, state.view);
    const frame = options.film ? await filmed(state, action) : {};
    if (action === undefined) return { say: "Error: invalid action", info: { isValid: false, ...frame } };
    if ("answer" in action) return { done: true, info: { isValid: true, ...frame } };
    try {
      const before = state.view;
      const say = await perform(state, action, signal);
      const changes = options.film ? { changes: changesBetween(before, state.view) } : {};
      return { say, info: { isValid: true, ...frame, ...changes } };
    } catch (error) {
      if (error instanceof ToolError) return { say: error.message, info: { isValid: false, ...frame } };
      throw error;
    }
  };
  return defineEnv<BrowserEnvTask, BrowserEnvState>({
    ...common,
    ...defined({ system: isShort ? undefined : language.introduction }),
    act,
    score: (episode) => {
      const said = language.read(episode.answer, episode.state.view);
      const answer = said !== undefined && "answer" in said ? said.answer : "";
      return common.score!({ ...episode, answer });
    },
    expert: ({ task, state }) => language.write(nextAction(task, state), state.view),
    actions: ({ task, state }) =>
      possibleActions(task, state).flatMap((action) => language.write(action, state.view) ?? []),
    format: isShort ? plain() : thinkAnswer(),
  });
}

/** What a text policy gets for a picture: the whole page, or the part of it in a region, with the boxes of elements. */
function tellScreen(
  action: ScreenAction,
  view: PageView,
  { page, view: last }: BrowserEnvState,
  shown: ShownView,
): string {
  const { name, start = [0, 0], point = [0, 0] } = action;
  if (name === "screenshot") return showView(view, undefined, shown);
  if (name === "zoom") {
    const snapshot = insideRegion(view.snapshot, start, point);
    return snapshot === "" ? "There is nothing in this region." : showView({ ...view, snapshot }, undefined, shown);
  }
  const position = name === "cursor_position" ? `X=${page.cursor?.[0] ?? 0},Y=${page.cursor?.[1] ?? 0}\n` : "";
  return position + showView(view, last, shown);
}

/** Actions are JSON; whatever else is said is the answer, and ends the episode. */
function computerEnv(
  common: Common,
  { pages, view: style, viewTokens }: BrowserEnvOptions,
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
        const view = await state.page.point!(action);
        const say = tellScreen(action, view, state, { style, viewTokens });
        state.view = view;
        return { say };
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

function checkFilm({ film, pages, actions }: BrowserEnvOptions): void {
  if (!film || (pages === "chromium" && (actions === "do" || actions === "names"))) return;
  throw new LudusError("bad-option", {
    got: `film with actions "${actions}"${pages === "chromium" ? "" : " and pages without Chromium"}`,
    expected: 'pages "chromium" with actions "do" or "names"',
  });
}

function checkedSites({ sites, kinds }: Web, chosen: readonly string[] = Object.keys(sites)): readonly string[] {
  const known = Object.keys(sites);
  const unknown = [...chosen, ...kinds.map(({ site }) => site)].find((name) => !known.includes(name));
  if (unknown === undefined) return chosen;
  throw new LudusError("bad-option", { got: `the site "${unknown}"`, expected: `one of ${known.join(", ")}` });
}

function chosenKinds(kinds: readonly TaskKind[], split: string): readonly TaskKind[] {
  const fitting = kinds.filter(({ isHeldOut = false }) => isHeldOut === (split === "new-kinds"));
  if (fitting.length > 0) return fitting;
  throw new LudusError("bad-option", {
    got: `no kind of task for the split "${split}" with these sites and levels`,
    expected: "at least one",
    hint: `Kinds with them: ${kinds.map(({ name, level }) => `${name} (${level})`).join(", ") || "none"}`,
  });
}

function makeTask(rng: Rng, kinds: readonly TaskKind[], { sites }: Web): BrowserEnvTask {
  const { name, site, level, make } = pick(rng, kinds);
  const [world, draw] = [rng.integer(worlds), rng.integer(worlds)];
  const made = make(createRng(draw), new SiteBackend(world, sites));
  const start = `http://${sites[site].host}/`;
  return { world, draw, site, kind: name, level, start, answer: "done", ...made };
}

/** The sites as the task was made for them. */
function prepare({ world, draw, kind }: BrowserEnvTask, { sites, kinds }: Web): SiteBackend {
  const backend = new SiteBackend(world, sites);
  kinds.find(({ name }) => name === kind)?.make(createRng(draw), backend);
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
  const whole = (target: string) => (/^e\d+$/.test(target) ? prefixOf(snapshot) + target : target);
  if ("fields" in action)
    return { ...action, fields: action.fields.map((field) => ({ ...field, target: whole(field.target) })) };
  return "target" in action ? { ...action, target: whole(action.target) } : action;
}

function withoutPrefix<Action extends DoAction>(action: Action, view: ViewStyle): Action {
  if (!hasShortRefs(view) || !("target" in action)) return action;
  return { ...action, target: action.target.replace(/^f\d+/, "") };
}

function toCall(action: DoAction): WantToSay | string {
  if ("answer" in action) return action.answer;
  const { tool: name, ...input } = action;
  return { calls: [{ name, arguments: input }] };
}
