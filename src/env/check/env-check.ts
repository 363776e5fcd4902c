import { errorText } from "../../errors.ts";
import { createRng, type Rng } from "../../random.ts";
import { isInfrastructureStop } from "../../schema/stop-reason.ts";
import type { Task } from "../../schema/task.ts";
import type { Env } from "../env.ts";
import type { Episode } from "../episode.ts";
import { firstDifference, show } from "./differences.ts";
import { ExpertRecord } from "./expert-record.ts";
import { Findings } from "./findings.ts";
import { hostileTexts } from "./hostile-texts.ts";
import { leftOpen, openResources } from "./open-resources.ts";
import { type Play, type Player, playTogether, recite, type Transcript } from "./play.ts";
import { checkTasks, copyOf } from "./tasks.ts";
import { watched } from "./watched-env.ts";

export interface EnvCheckOptions {
  readonly tasks: number;
  readonly turns: number;
  readonly timeoutMs: number;
  readonly seed: number;
}

interface PlaySettings {
  isCivil?: boolean;
  scoresTwice?: boolean;
  turns?: number;
}

interface PlayedTask {
  readonly task: Task;
  readonly player: Player;
}

/** How many turns the same nonsense is said. */
const hostileTurns = 3;

/** One check of one environment; `checkEnv` says what of. */
export class EnvCheck {
  readonly findings = new Findings();
  episodes = 0;
  readonly #env: Env;
  readonly #options: EnvCheckOptions;
  readonly #rng: Rng;
  readonly #expert = new ExpertRecord();
  /** What the expert said, for players who know no better. */
  readonly #spoken = new Set<string>();
  #hostile: readonly string[] = [];

  constructor(env: Env, options: EnvCheckOptions) {
    this.#env = env;
    this.#options = options;
    this.#rng = createRng(options.seed);
  }

  async run(): Promise<void> {
    checkWords(this.#env, this.findings);
    const tasks = await checkTasks(this.#env.tasks, this.#options.tasks, this.findings);
    const before = openResources();
    const alone: { task: Task; play: Play }[] = [];
    const keep = async (task: Task, player: Player, settings?: PlaySettings) => {
      const play = await this.#repeat(task, player, settings);
      if (play !== undefined) alone.push({ task, play });
      return play;
    };
    if (this.#env.expert !== undefined) {
      for (const task of tasks) await this.#judgeExpert(task, await keep(task, this.#askExpert, { isCivil: true }));
    }
    this.#hostile = hostileTexts(this.#env, [...this.#spoken]);
    for (const task of tasks) {
      await keep(task, this.#sayAnything, { isCivil: true });
      // the same task in another world
      await keep({ ...task, seed: task.seed + 1 }, (episode, turn) => {
        return this.#rng.next() < 0.3 ? this.#pick(this.#hostile) : this.#sayAnything(episode, turn);
      });
    }
    await this.#compareTogether(alone);
    if (tasks.length > 0) await this.#sayHostile(tasks);
    this.#expert.report(this.#env, this.findings);
    const left = await leftOpen(before, this.episodes);
    if (left !== undefined) this.findings.add("left-open", `after ${this.episodes} episodes there are ${left}`);
  }

  readonly #askExpert = (episode: Episode) => {
    const text = episode.expertSays();
    if (text !== undefined) this.#spoken.add(text);
    return text;
  };

  readonly #sayAnything = (episode: Episode, _turn: number): string => {
    const listed = episode.possibleTexts();
    const known = listed.length > 0 ? listed : [...this.#spoken];
    return this.#pick(known.length > 0 ? known : this.#hostile);
  };

  #pick(texts: readonly string[]): string {
    return texts[this.#rng.integer(texts.length)] ?? "";
  }

  async #judgeExpert(task: Task, play: Play | undefined): Promise<void> {
    if (play === undefined || isInfrastructureStop(play.transcript.stop)) return;
    const { turns } = this.#env.limits;
    const isCutOff = play.transcript.stop === "max-turns" && play.texts.length === turns && !succeeded(play.transcript);
    const longer = isCutOff ? await this.#play(task, this.#askExpert, { turns: 4 * turns }) : undefined;
    this.#expert.add(task, play, longer !== undefined && succeeded(longer.transcript));
  }

  /** Once as it comes, twice more with the same words: these must be the same, and the first as well. */
  async #repeat(task: Task, player: Player, settings: PlaySettings = {}): Promise<Play | undefined> {
    const first = await this.#play(task, player, { ...settings, scoresTwice: true });
    if (first === undefined) return undefined;
    const [second, third] = [await this.#play(task, recite(first.texts)), await this.#play(task, recite(first.texts))];
    if (second === undefined || third === undefined) return undefined;
    const said = `${describeTask(task)}, saying ${show(first.texts)} again`;
    const change = firstDifference(second.transcript, third.transcript);
    if (change !== undefined) this.findings.add("nondeterministic", `${said}: ${change}`);
    const asked = firstDifference(first.transcript, second.transcript);
    if (change === undefined && asked !== undefined) {
      this.findings.add("asking-changes-state", `${said} without asking the expert or for actions: ${asked}`);
    }
    return second;
  }

  async #compareTogether(alone: readonly { task: Task; play: Play }[]): Promise<void> {
    // what is different every time tells nothing about who disturbed whom
    if (this.findings.has("nondeterministic") || alone.length < 2) return;
    const playedTasks = alone.map(({ task, play }) => ({ task, player: recite(play.texts) }));
    const together = await this.#playAll(playedTasks, {});
    together?.forEach(({ transcript }, i) => {
      const change = firstDifference(alone[i].play.transcript, transcript);
      if (change === undefined) return;
      const place = `${describeTask(alone[i].task)}, played alone and then beside ${alone.length - 1} others`;
      this.findings.add("state-leaks", `${place}: ${change}`);
    });
  }

  async #sayHostile(tasks: readonly Task[]): Promise<void> {
    for (const [i, text] of this.#hostile.entries()) {
      const say: Player = (_, turn) => (turn < hostileTurns ? text : undefined);
      const wins: Task[] = [];
      // a second look only where the first has won: chance wins now and then
      for (const task of [tasks[i % tasks.length], ...tasks]) {
        const play = await this.#play(task, say);
        if (play === undefined || !succeeded(play.transcript)) break;
        wins.push(task);
      }
      if (wins.length <= tasks.length || this.#spoken.has(text)) continue;
      this.findings.add("garbage-succeeds", `${show(text)} succeeds at all ${tasks.length} tasks`);
    }
  }

  async #play(task: Task, player: Player, settings: PlaySettings = {}): Promise<Play | undefined> {
    return (await this.#playAll([{ task, player }], settings))?.[0];
  }

  /** Nothing where it could not be played to its end. */
  async #playAll(playedTasks: readonly PlayedTask[], settings: PlaySettings): Promise<Play[] | undefined> {
    // each would wait for its time to run out
    if (this.findings.has("hangs") || this.findings.has("blocks-thread")) return undefined;
    const { timeoutMs, turns } = this.#options;
    const { limits } = this.#env;
    const seen = { isExplained: false };
    const env = watched(this.#env, {
      timeoutMs,
      isCivil: settings.isCivil ?? false,
      scoresTwice: settings.scoresTwice ?? false,
      report: (code, message) => {
        seen.isExplained ||= code === "not-text" || code === "not-finite";
        this.findings.add(code, message);
      },
    });
    const copies = playedTasks.map(({ task, player }) => ({ player, task: { ...task, data: copyOf(task.data) } }));
    this.episodes += playedTasks.length;
    try {
      const plays = await playTogether(env, copies, {
        maxTurns: Math.max(turns, settings.turns ?? 0),
        limits: {
          ...limits,
          turns: settings.turns ?? limits.turns,
          envMs: Math.min(limits.envMs, timeoutMs),
          toolMs: Math.min(limits.toolMs, timeoutMs),
        },
      });
      plays.forEach((play, i) => this.#examine(play, copies[i].task, playedTasks[i].task, seen.isExplained));
      return plays;
    } catch (error) {
      const what = errorText(error);
      this.findings.add("expert-crash", `asked at ${describeTask(playedTasks[0].task)}: ${what}`);
      return undefined;
    }
  }

  #examine({ transcript, texts, failure = "", slowest }: Play, used: Task, given: Task, isExplained: boolean): void {
    const { stop, turns } = transcript;
    const where = `at ${describeTask(given)}${texts.length === 0 ? ", at the start" : `, told ${show(texts.at(-1))}`}`;
    const odd = turns.find(({ reward }) => !Number.isFinite(reward));
    if (odd !== undefined && !isExplained) this.findings.add("not-finite", `${where}: a reward of ${odd.reward}`);
    const isLate = stop === "env-timeout" || stop === "tool-timeout";
    if (isLate) this.findings.add("hangs", `${where}: ${failure}`);
    else if (slowest.ms > this.#options.timeoutMs) {
      const told = slowest.text === undefined ? "starting or ending" : `told ${show(slowest.text)}`;
      this.findings.add("blocks-thread", `at ${describeTask(given)}, ${told}: it took ${Math.round(slowest.ms)} ms`);
    }
    if (isInfrastructureStop(stop) && !isLate && stop !== "cancelled" && !isExplained && odd === undefined) {
      const [said, at = ""] = failure.split("\n");
      const what = `${said.trim()} ${at.trim()}`.trim();
      this.findings.add("crash", `${where}: ${what}`, what.slice(0, 60));
    }
    const change = firstDifference(given.data, used.data, "data");
    if (change !== undefined) this.findings.add("task-mutated", `${where}: ${change}`);
  }
}

export function succeeded({ scores }: Transcript): boolean {
  return Object.values(scores).some(({ success }) => success);
}

function describeTask({ id, seed }: Task): string {
  return `task ${id}, seed ${seed}`;
}

/** What people and policies are told of an environment. */
function checkWords({ name, description, tools = {} }: Env, findings: Findings): void {
  if (description.trim() === "" || description === name)
    findings.add("no-description", `the description of ${name} is its name`);
  for (const [tool, { spec }] of Object.entries(tools)) {
    if (spec.description.trim() === "") findings.add("tool-without-description", `the tool "${tool}"`, tool);
  }
}
