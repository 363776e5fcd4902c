import { type KnownOptions, refuseUnknownOptions } from "../known-options.ts";
import { metric } from "../schema/metric-names.ts";
import type { RunEvent } from "../schema/run-event.ts";
import { FailureNotes } from "./failure-notes.ts";
import type { Monitor } from "./monitor.ts";
import { Curve } from "./sparkline.ts";

/** Where progress is written to, such as `process.stderr`. */
export interface Screen {
  write(text: string): unknown;
  readonly isTTY?: boolean;
  readonly columns?: number;
}

export interface ConsoleMonitorOptions {
  stream: Screen;
  /** Where there is no terminal: seconds between two lines. */
  everySeconds?: number;
  /** Milliseconds. */
  now?: () => number;
}

const knownConsoleMonitorOptions: KnownOptions<ConsoleMonitorOptions> = { stream: true, everySeconds: true, now: true };

/**
 * Shows the progress of a run. On a terminal, three lines are redrawn at every step; elsewhere a plain line is written every few
 * seconds. Phases, evaluations, findings, warnings and the first of each failure have lines of their own, which are not redrawn;
 * further failures are counted. Uses no colours.
 *
 *     grpo ━━━━━━━━━━━━────────────────── 41/100   12 s, 17 s left   5120 tokens/s
 *     reward  0.62 ▁▂▃▄▆▇
 *     success 0.58 ▁▂▃▄▆▇
 */
export function consoleMonitor(options: ConsoleMonitorOptions): Monitor {
  refuseUnknownOptions("consoleMonitor", options, knownConsoleMonitorOptions);
  const { stream, everySeconds = 10, now = clock } = options;
  const progress = new Progress(now);
  const isLive = stream.isTTY === true;
  const live = new LiveLines(stream);
  const failures = new FailureNotes();
  const print = (lines: readonly string[]) => {
    for (const line of lines) live.print(harmless(line));
  };
  let lastLine = Number.NEGATIVE_INFINITY;
  return {
    name: "console",
    record(event) {
      progress.add(event);
      if (event.type === "failure") print(failures.ofEvent(event));
      if (event.type === "run-end") print(failures.summary());
      const line = lineOf(event);
      if (line !== undefined) print([line]);
      if (event.type !== "step-end") return;
      progress.failed = failures.takeStep();
      if (isLive) live.draw(progress.view(stream.columns || 80));
      else if (now() - lastLine >= 1000 * everySeconds || progress.isLastStep) {
        lastLine = now();
        stream.write(`${progress.line()}\n`);
      }
    },
    recordRollout: (rollout) => print(failures.ofRollout(rollout)),
    close: () => live.end(),
  };
}

const clock = () => performance.now();

/** Events that have a line of their own. */
function lineOf(event: RunEvent): string | undefined {
  switch (event.type) {
    case "run-start":
      return [
        `run ${event.name}`,
        ...(event.parent === undefined ? [] : [`from step ${event.parent.step} of ${event.parent.run}`]),
        ...(event.resumedAtStep === undefined ? [] : [`resumed after step ${event.resumedAtStep}`]),
      ].join(", ");
    case "phase-start":
      return [
        `phase ${event.phase}, ${event.steps} steps`,
        ...(event.doneSteps === undefined ? [] : [`${event.doneSteps} done`]),
        ...(event.reusedFrom === undefined ? [] : [`the same as before: loaded from ${event.reusedFrom}`]),
      ].join(", ");
    case "eval-end":
      return `step ${event.step}: held-out success ${shown(event.metrics[metric.evalSuccess])}, reward ${shown(event.metrics[metric.evalReward])}`;
    case "finding":
      return `step ${event.step}: ${event.code}: ${event.message}`;
    case "warning":
      return `warning: ${event.message}`;
    case "run-end":
      return `ended: ${event.reason}`;
    case "failure":
    case "step-end":
    case "checkpoint-saved":
      return undefined;
    default:
      return event satisfies never;
  }
}

/** Steps done, latest metrics and remaining time. */
class Progress {
  readonly #now: () => number;
  readonly #rewards = new Curve();
  readonly #successes = new Curve();
  #phase = "";
  #steps = 0;
  #done = 0;
  /** Steps done before the run was resumed: they took none of the time since. */
  #doneBefore = 0;
  #started: number;
  #lastStep: number;
  #stepMs = 0;
  #metrics: Readonly<Record<string, number>> = {};
  /** Attempts of the last step that failed, in words. */
  failed = "";

  constructor(now: () => number) {
    this.#now = now;
    this.#started = now();
    this.#lastStep = this.#started;
  }

  get isLastStep(): boolean {
    return this.#done === this.#steps;
  }

  add(event: RunEvent): void {
    if (event.type === "phase-start") {
      this.#phase = event.phase;
      this.#steps = event.steps;
      this.#doneBefore = event.doneSteps ?? 0;
      this.#done = this.#doneBefore;
      this.#started = this.#now();
    }
    // evaluations between steps do not count towards tokens per second
    if (event.type !== "step-end") {
      this.#lastStep = this.#now();
      return;
    }
    this.#done++;
    this.#stepMs = this.#now() - this.#lastStep;
    this.#lastStep = this.#now();
    this.#metrics = event.metrics;
    const { [metric.reward]: reward, [metric.success]: success } = event.metrics;
    if (reward !== undefined) this.#rewards.push(reward);
    if (success !== undefined) this.#successes.push(success);
  }

  view(columns: number): string[] {
    const width = Math.max(0, Math.min(30, columns - 10));
    const filled = Math.round((width * this.#done) / Math.max(1, this.#steps));
    const bar = "━".repeat(Math.min(width, filled)) + "─".repeat(Math.max(0, width - filled));
    const head = [`${this.#phase} ${bar} ${this.#done}/${this.#steps}`, this.#time(), this.#speed()].filter(Boolean);
    const room = Math.max(1, Math.min(60, columns - 16));
    const curve = (name: string, values: Curve) =>
      values.last === undefined
        ? []
        : [`${name.padEnd(7)} ${shown(values.last).padStart(6)} ${values.sparkline(room)}`];
    const loss = `loss    ${shown(this.#metrics[metric.loss]).padStart(6)}`;
    const curves = [...curve("reward", this.#rewards), ...curve("success", this.#successes)];
    const failed = this.failed === "" ? [] : [this.failed];
    return [head.join("   "), ...(curves.length === 0 ? [loss] : curves), ...failed].map((line) =>
      // a line that wraps would be cleared as one and leave the rest behind
      harmless(line).slice(0, Math.max(1, columns - 1)),
    );
  }

  line(): string {
    const figures = (
      [
        ["reward", metric.reward],
        ["success", metric.success],
        ["entropy", metric.entropy],
        ["loss", metric.loss],
      ] as const
    )
      .filter(([, name]) => this.#metrics[name] !== undefined)
      .map(([label, name]) => `${label} ${shown(this.#metrics[name])}`);
    const parts = [
      `${harmless(this.#phase)} ${this.#done}/${this.#steps}`,
      ...figures,
      this.failed,
      this.#speed(),
      this.#time(),
    ];
    return parts.filter(Boolean).join("  ");
  }

  #time(): string {
    const passed = this.#now() - this.#started;
    const left = (passed / Math.max(1, this.#done - this.#doneBefore)) * (this.#steps - this.#done);
    return this.#done >= this.#steps ? duration(passed) : `${duration(passed)}, ${duration(left)} left`;
  }

  #speed(): string {
    const tokens = this.#metrics[metric.sampledTokens];
    return tokens === undefined || this.#stepMs <= 0 ? "" : `${Math.round((1000 * tokens) / this.#stepMs)} tokens/s`;
  }
}

/** Lines that are redrawn in place, below those that are printed once. */
class LiveLines {
  readonly #stream: Screen;
  #lines: readonly string[] = [];

  constructor(stream: Screen) {
    this.#stream = stream;
  }

  draw(lines: readonly string[]): void {
    this.#stream.write(`${this.#clear()}${lines.join("\n")}\n`);
    this.#lines = lines;
  }

  /** Prints a line above those that are redrawn. */
  print(line: string): void {
    this.#stream.write(`${this.#clear()}${line}\n`);
    const lines = this.#lines;
    this.#lines = [];
    if (lines.length > 0) this.draw(lines);
  }

  end(): void {
    this.#lines = [];
  }

  #clear(): string {
    // moves the cursor up, then erases everything below
    return this.#lines.length === 0 ? "" : `\u001b[${this.#lines.length}A\u001b[J`;
  }
}

function shown(value: number | undefined): string {
  return value === undefined ? "-" : Number.isFinite(value) ? value.toPrecision(3) : String(value);
}

/** Names and messages may hold what a model wrote: control characters, which could take over a terminal, are spelled out. */
function harmless(text: string): string {
  return text.replace(/[\p{Cc}\p{Bidi_Control}]/gu, (character) => {
    return `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`;
  });
}

function duration(ms: number): string {
  const seconds = Math.round(ms / 1000);
  if (seconds < 60) return `${seconds} s`;
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min ${seconds % 60} s`;
  return `${Math.floor(seconds / 3600)} h ${Math.floor((seconds % 3600) / 60)} min`;
}
