import { describe, expect, test } from "vitest";
import { metric } from "../../src/schema/metric-names.ts";
import { stalenessMetrics } from "../../src/train/async/staleness.ts";
import { planCharts } from "./plan-charts.ts";

const titles = (names: readonly string[]) =>
  planCharts(names).sections.map(({ title, charts }) => [title, ...charts.map((chart) => chart.title)]);

describe("charts", () => {
  test("of no metrics are none", () => expect(planCharts([])).toEqual({ sections: [], others: [] }));

  test("are grouped, and sections without a metric are left out", () => {
    expect(titles([metric.loss, metric.reward, metric.entropy])).toEqual([
      ["Learning", "Training reward"],
      ["Health", "Entropy"],
      ["Update", "Loss"],
    ]);
  });

  test("have only the metrics that the run has", () => {
    const { sections } = planCharts([metric.uniform, metric.uniformPass]);
    expect(sections[0].charts[0].names).toEqual([metric.uniform, metric.uniformPass]);
  });

  test("of stop reasons and reward parts are stacked over the steps of the reward", () => {
    const names = [metric.reward, metric.stop("completed"), metric.stop("max-turns"), metric.rewardPart("format")];
    const charts = planCharts(names).sections[0].charts.filter(({ isStacked }) => isStacked);
    expect(charts).toMatchObject([
      { title: "Reward parts", grid: metric.reward, names: [metric.rewardPart("format")] },
      { title: "Stop reasons", names: [metric.stop("completed"), metric.stop("max-turns")], prefix: metric.stop("") },
    ]);
  });

  test("of rollouts ahead show ages, who waited for whom, the buffer and what was thrown away", () => {
    const ages = stalenessMetrics(
      new Map([
        [0, 3],
        [2, 1],
        [40, 1],
      ]),
    );
    const names = [
      ...Object.keys(ages),
      metric.trainerWaits,
      metric.samplerWaits,
      metric.bufferLength,
      metric.droppedTokens,
    ];
    const [{ title, charts }] = planCharts(names).sections;
    expect(title).toBe("Rollouts ahead");
    expect(charts.map((chart) => [chart.title, chart.names.length])).toEqual([
      ["Age of tokens, in steps", 6],
      ["Mean and largest age, in steps", 2],
      ["Waiting: trainer, sampler", 2],
      ["Finished groups that wait", 1],
      ["Tokens thrown away", 1],
    ]);
  });

  test("that are stacked need their grid: without it each metric is a chart of its own", () => {
    const { sections, others } = planCharts([metric.stop("completed")]);
    expect(sections).toEqual([]);
    expect(others.map(({ title }) => title)).toEqual([metric.stop("completed")]);
  });

  test("of unknown metrics come last, under their own names, however odd", () => {
    const odd = ["own/metric", "", "a b/ü", "x".repeat(300), "__proto__"];
    expect(planCharts([metric.reward, ...odd]).others.map(({ title, names }) => [title, ...names])).toEqual(
      odd.map((name) => [name, name]),
    );
  });

  test("show every metric exactly once", () => {
    const names = [...Object.values(metric).map((name) => (typeof name === "string" ? name : name("x"))), "own/metric"];
    const { sections, others } = planCharts(names);
    const shown = [...sections.flatMap(({ charts }) => charts), ...others].flatMap((chart) => chart.names);
    expect(shown.toSorted()).toEqual([...new Set(names)].toSorted());
  });
});
