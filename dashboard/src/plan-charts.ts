import { metric } from "../../src/schema/metric-names.ts";

export interface ChartPlan {
  readonly title: string;
  readonly names: readonly string[];
  readonly colour: number;
  readonly isStacked: boolean;
  /** Stacked charts only: the metric that defines their steps. */
  readonly grid?: string;
  /** The values are shares: the axis is from 0 to 1, so that charts can be compared at a glance. */
  readonly isShare?: boolean;
  /** Drawn as points with the intervals of the evaluations' reports. */
  readonly evaluated?: "success" | "reward";
  /** Left out of labels. */
  readonly prefix: string;
}

export interface ChartSection {
  readonly title: string;
  readonly charts: readonly ChartPlan[];
}

const stopPrefix = metric.stop("");
const partPrefix = metric.rewardPart("");
const timePrefix = metric.seconds("");

/** The charts for a run's metrics: well-known ones in sections, every other metric as a chart of its own. */
export function planCharts(metricNames: readonly string[]): { sections: ChartSection[]; others: ChartPlan[] } {
  const known = new Set(metricNames);
  const used = new Set<string>();
  const line = (title: string, ...names: string[]) => ({ title, names, colour: 0, isStacked: false, prefix: "" });
  const share = (title: string, ...names: string[]) => ({ ...line(title, ...names), isShare: true });
  const stack = (title: string, prefix: string, grid: string) => {
    return {
      title,
      prefix,
      grid,
      colour: 0,
      isStacked: true,
      names: metricNames.filter((name) => name.startsWith(prefix)),
    };
  };
  const section = (title: string, ...charts: ChartPlan[]): ChartSection => ({ title, charts });
  const wanted = [
    section(
      "Learning",
      { ...share("Held-out success", metric.evalSuccess), evaluated: "success" },
      line("Training reward", metric.reward),
      share("Training success", metric.success),
      { ...line("Held-out reward", metric.evalReward), evaluated: "reward" },
      stack("Reward parts", partPrefix, metric.reward),
      stack("Stop reasons", stopPrefix, metric.reward),
      line("Turns", metric.turns),
    ),
    section(
      "Rollouts ahead",
      stack("Age of tokens, in steps", metric.staleness(""), metric.stalenessMean),
      line("Mean and largest age, in steps", metric.stalenessMean, metric.stalenessMax),
      share("Waiting: trainer, sampler", metric.trainerWaits, metric.samplerWaits),
      line("Finished groups that wait", metric.bufferLength),
      line("Tokens thrown away", metric.droppedTokens),
    ),
    section(
      "Health",
      line("Reward std within groups", metric.rewardStd),
      share("Groups with equal rewards", metric.uniform, metric.uniformFail, metric.uniformPass),
      line("Entropy", metric.entropy),
      line("KL per update", metric.klOldNew),
      line("KL to the reference", metric.klReference),
      line("Clip fraction", metric.clipLow, metric.clipHigh),
      line("Gradient norm", metric.gradientNorm),
      line("Log-probability mismatch, sampler and trainer", metric.mismatchMean, metric.mismatchMax),
      share("Repeated turns, failed and unknown tool calls", metric.repeats, metric.toolErrors, metric.toolUnknown),
    ),
    section(
      "Update",
      line("Loss", metric.loss),
      line("Learning rate", metric.learningRate),
      line("Value loss", metric.valueError),
    ),
    section(
      "Speed",
      line("Tokens per second", metric.tokensPerSecond),
      stack("Time per step, seconds", timePrefix, metric.seconds("update")),
      line("Sampled tokens per step", metric.sampledTokens),
    ),
  ];
  const sections = wanted.flatMap(({ title, charts }) => {
    const present = charts
      .map((chart) => ({ ...chart, names: chart.names.filter((name) => known.has(name)) }))
      .filter((chart) => chart.names.length > 0 && (chart.grid === undefined || known.has(chart.grid)));
    for (const name of present.flatMap(({ names }) => names)) used.add(name);
    return present.length === 0 ? [] : [{ title, charts: present }];
  });
  const others = metricNames.filter((name) => !used.has(name)).map((name) => line(name, name));
  return { sections, others };
}
