import { existsSync, readdirSync, readFileSync } from "node:fs";
import { extname, join, normalize } from "node:path";
import { LudusError } from "../../errors.ts";
import { type KnownOptions, refuseUnknownOptions } from "../../known-options.ts";
import { makeScore } from "../../schema/score.ts";
import { generated } from "../../task/generated.ts";
import { defineEnv } from "../define-env.ts";
import type { Env } from "../env.ts";
import { checkWholeOptions } from "../environments/check-options.ts";
import { pick } from "../environments/draw.ts";
import { browserTools } from "./browser-tools.ts";
import type { ChromiumOptions } from "./chromium-options.ts";
import type { DoAction } from "./do-actions.ts";
import { miniWobExpert } from "./mini-wob-expert.ts";
import type { PageAction, PageDriver, PageView } from "./page-driver.ts";
import { chromiumPages } from "./page-source.ts";
import { possibleActions } from "./possible-actions.ts";
import { SiteBackend } from "./site-backend.ts";
import { showView, type ViewStyle } from "./snapshot-text.ts";

export interface MiniWobOptions {
  /** Where `miniwob/html` of the package `miniwob` lies: `pip download --no-deps miniwob`, unpacked. */
  folder: string;
  /** Names of pages, without `.html`; all of them by default. */
  pages: readonly string[] | "all";
  chromium: Partial<ChromiumOptions>;
  view: ViewStyle;
  viewTokens: number;
  turns: number;
  actionMs: number;
  seed: number;
}

const knownMiniWobOptions: KnownOptions<MiniWobOptions> = {
  folder: true,
  pages: true,
  chromium: true,
  view: true,
  viewTokens: true,
  turns: true,
  actionMs: true,
  seed: true,
};
const defaults = {
  pages: "all",
  chromium: {},
  view: "full",
  viewTokens: 2000,
  turns: 10,
  actionMs: 5000,
  seed: 0,
} as const;

export interface MiniWobTask {
  readonly page: string;
  /** What the page draws its problem from. */
  readonly seed: number;
}

export interface MiniWobState {
  readonly page: PageDriver;
  readonly asked: string;
  view: PageView;
  reward: number;
}

/**
 * The pages of MiniWoB++ as they are published, in Chromium, with their own reward (without its loss over time: turns are limited, not
 * seconds). An episode ends when the page says so. Solved is a reward of 1.
 */
export function miniWob(
  options: Partial<MiniWobOptions> & Pick<MiniWobOptions, "folder">,
): Env<MiniWobTask, MiniWobState> {
  refuseUnknownOptions("miniWob", options, knownMiniWobOptions);
  const chosen = { ...defaults, ...options };
  checkWholeOptions("mini-wob", { turns: [chosen.turns, 1, 1000], viewTokens: [chosen.viewTokens, 50, 1_000_000] });
  const names = chosen.pages === "all" ? miniWobPages(chosen.folder) : checkedPages(chosen.pages, chosen.folder);
  const source = chromiumPages(chosen.chromium, { actionMs: chosen.actionMs, maxSnapshotChars: 1 << 18 });
  const shown = { style: chosen.view, viewTokens: chosen.viewTokens };
  return defineEnv({
    name: "mini-wob",
    description: `MiniWoB++: ${names.length} small pages in Chromium with their own reward`,
    tasks: generated((rng): MiniWobTask => ({ page: pick(rng, names), seed: rng.integer(1 << 30) }), {
      name: "mini-wob",
      seed: chosen.seed,
    }),
    system: "You use a web page with tools. Do what the page asks for.",
    async start({ task, signal }) {
      const page = await source.open(new SiteBackend(0), (url) => fileOf(chosen.folder, url));
      try {
        await page.act({ tool: "browser_navigate", url: `http://miniwob.test/miniwob/${task.page}.html` }, signal);
        const asked = String(await page.evaluate?.(begin(task.seed)));
        const view = await page.act({ tool: "browser_snapshot" }, signal);
        return { state: { page, asked, view, reward: 0 }, say: `${asked}\n\n${showView(view, undefined, shown)}` };
      } catch (error) {
        await page.close();
        throw error;
      }
    },
    tools: (tool) =>
      browserTools<MiniWobState>(
        tool,
        async (action: PageAction, { state, signal, finish }) => {
          const view = await state.page.act(action, signal);
          const text = showView(view, state.view, shown);
          state.view = view;
          const end = await state.page.evaluate?.("WOB_DONE_GLOBAL ? WOB_RAW_REWARD_GLOBAL : null");
          if (typeof end === "number") {
            state.reward = end;
            finish();
          }
          return text;
        },
        ({ view }) => view,
      ),
    score: ({ state }) => makeScore({ outcome: state.reward }, state.reward >= 1),
    close: ({ page }) => page.close(),
    expert: ({ state }) => toCall(miniWobExpert(state.asked, state.view.snapshot)),
    actions: ({ state }) =>
      possibleActions(wordsOf(state.asked), { backend: new SiteBackend(0), view: state.view })
        .filter((action) => "tool" in action && action.tool !== "browser_navigate_back")
        .map((action) => toCall(action) ?? ""),
    limits: {
      turns: chosen.turns,
      tokens: 32_768,
      toolMs: chosen.actionMs * 4,
      envMs: Math.max(60_000, chosen.actionMs * 4),
      observationChars: chosen.viewTokens * 4 + 2000,
    },
  });
}

/** A random player writes words that the page names. */
function wordsOf(asked: string) {
  const write = Object.fromEntries([...asked.matchAll(/"([^"]+)"/g)].map(([, word]) => [word, word]));
  const none = {
    world: 0,
    site: "shop",
    kind: "",
    level: 1,
    instruction: asked,
    start: "",
    rules: [],
    answer: "",
  } as const;
  return { ...none, milestones: [{ at: "", write, press: "", until: [] }] };
}

function toCall(action: DoAction | undefined) {
  if (action === undefined || "answer" in action) return undefined;
  const { tool: name, ...input } = action;
  return { calls: [{ name, arguments: input }] };
}

/** Begins the page's own episode, with a time limit that no run reaches, and says what it asks for. */
function begin(seed: number): string {
  return `(() => {
    core.EPISODE_MAX_TIME = 1e9;
    Math.seedrandom("${seed}");
    core.startEpisodeReal();
    const asked = core.getUtterance();
    return typeof asked === "string" ? asked : asked.utterance;
  })()`;
}

/** Names of the pages that a folder has. */
export function miniWobPages(folder: string): string[] {
  const inner = join(folder, "miniwob");
  if (!existsSync(inner)) {
    throw new LudusError("no-miniwob", {
      got: `no folder ${inner}`,
      expected: "`html` of the Python package `miniwob`",
      hint: "pip download --no-deps miniwob, then unpack miniwob/html of the wheel.",
    });
  }
  return readdirSync(inner)
    .filter((name) => name.endsWith(".html"))
    .map((name) => name.slice(0, -".html".length))
    .sort();
}

function checkedPages(names: readonly string[], folder: string): readonly string[] {
  const known = miniWobPages(folder);
  const unknown = names.find((name) => !known.includes(name));
  if (unknown === undefined) return names;
  throw new LudusError("bad-option", { got: `page "${unknown}"`, expected: `one of ${known.join(", ")}` });
}

const types: Readonly<Record<string, string>> = {
  ".html": "text/html; charset=utf-8",
  ".js": "text/javascript",
  ".css": "text/css",
  ".png": "image/png",
  ".gif": "image/gif",
  ".svg": "image/svg+xml",
};

function fileOf(folder: string, url: URL) {
  if (url.host !== "miniwob.test") return undefined;
  const path = normalize(decodeURIComponent(url.pathname));
  if (path.includes("..")) return undefined;
  const file = join(folder, path);
  if (!existsSync(file) || extname(file) === "") return undefined;
  return { type: types[extname(file)] ?? "application/octet-stream", body: readFileSync(file) };
}
