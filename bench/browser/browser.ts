import { type BrowserEnvOptions, browserEnv } from "../../src/env/browser/browser-env.ts";
import { chromiumPages } from "../../src/env/browser/page-source.ts";
import { walkBoth } from "../../src/env/browser/testing/walk-both.ts";
import { Episode } from "../../src/env/episode.ts";
import { aboutLine, aboutRun, busyWarning } from "../about-run.ts";
import type { Benchmark } from "../benchmark.ts";
import { coresOfOthers, readProcessorTime } from "../child/processor-time.ts";
import { parseJsonOption } from "../json-option.ts";
import { writeRecord } from "../pages.ts";

const help = `Episodes of the environment \`browser\`: how many are held at once in Chromium, steps a second there and without a
browser, and the share of snapshots that are the same in both. A step is an action of the scripted expert and the view that
follows. Needs LUDUS_BROWSER. Takes one or two minutes. Writes bench/results/browser.json.

Usage: npm run bench -- browser [options]

  --json  print the figures as one JSON object

Example:
  LUDUS_BROWSER=/usr/bin/chromium-headless-shell npm run bench -- browser --json
`;

const episodesAtOnce = 64;
const domEpisodes = 1500;
const walks = 24;
const stepsPerWalk = 40;

export const browserBenchmark: Benchmark = {
  name: "browser",
  summary: "web pages in Chromium and without: episodes at once, steps, equal snapshots",
  help,
  async run(args, { root, signal, progress }) {
    const { json } = parseJsonOption("browser", args);
    const about = aboutRun("browser", args, root);
    const warning = busyWarning(about);
    if (warning !== undefined) progress(warning);
    const [started, before] = [performance.now(), readProcessorTime(process.pid)];
    const dom = await measureSteps({ pages: "dom" }, domEpisodes, 1, signal);
    progress(`without a browser: ${dom.stepsPerSecond.toFixed(0)} steps a second`);
    const chromium = await measureSteps(
      { pages: "chromium", actionMs: 60_000 },
      episodesAtOnce,
      episodesAtOnce,
      signal,
    );
    progress(
      `Chromium: ${chromium.solved} of ${episodesAtOnce} held and solved, ${chromium.stepsPerSecond.toFixed(1)} steps a second`,
    );
    const same = await measureSame(signal);
    progress(`the same: ${same.same} of ${same.steps} snapshots`);
    const [seconds, after] = [(performance.now() - started) / 1000, readProcessorTime(process.pid)];
    const summary = {
      held: chromium.solved,
      chromium_steps_per_s: round(chromium.stepsPerSecond),
      dom_steps_per_s: round(dom.stepsPerSecond),
      same_snapshots: same.same / same.steps,
    };
    const others = before && after ? coresOfOthers(before, after, seconds) : 0;
    const versions = { node: process.versions.node };
    const results = { about, versions, coresOfOthers: others, summary, dom, chromium, same };
    writeRecord(root, "browser", results);
    if (!json) progress(aboutLine(about, versions, others));
    console.log(JSON.stringify(summary));
  },
};

const round = (value: number) => Math.round(value * 10) / 10;

interface Steps {
  readonly episodes: number;
  readonly solved: number;
  readonly steps: number;
  readonly seconds: number;
  readonly stepsPerSecond: number;
}

/** Episodes are all open before the first step of any is measured. */
async function measureSteps(
  options: Partial<BrowserEnvOptions>,
  count: number,
  atOnce: number,
  signal: AbortSignal,
): Promise<Steps> {
  const env = browserEnv({ ...options, view: "full" });
  let [solved, steps, seconds] = [0, 0, 0];
  for (let first = 0; first < count; first += atOnce) {
    const tasks = await Promise.all(Array.from({ length: atOnce }, (_, index) => env.tasks.at("train", first + index)));
    const episodes = tasks.map((task) => new Episode(env, task, { signal }));
    const openings = await Promise.all(episodes.map((episode) => episode.start()));
    const begun = performance.now();
    const ends = await Promise.all(
      episodes.map(async (episode, index) => {
        let next = openings[index];
        while ("role" in next) {
          next = await episode.step(episode.expertSays() ?? "");
          steps++;
        }
        return next;
      }),
    );
    seconds += (performance.now() - begun) / 1000;
    const results = await Promise.all(episodes.map((episode, index) => episode.finish(ends[index])));
    solved += results.filter(({ scores }) => scores.agent.success).length;
    signal.throwIfAborted();
  }
  return { episodes: count, solved, steps, seconds, stepsPerSecond: steps / seconds };
}

async function measureSame(signal: AbortSignal): Promise<{ steps: number; same: number }> {
  // with Playwright's own text: steps are measured with the faster reader, which a test compares with the same pages
  const source = chromiumPages({}, { actionMs: 60_000, maxSnapshotChars: 1 << 20, reader: "playwright" });
  const done = await Promise.all(
    Array.from({ length: walks }, (_, seed) => walkBoth(source, seed, stepsPerWalk, signal)),
  );
  // a walk ends where the two differ: the rest of it counts as different
  return { steps: walks * stepsPerWalk, same: done.reduce((sum, { same }) => sum + same, 0) };
}
