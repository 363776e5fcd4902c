import type UPlot from "uplot";
import type { ShownFinding } from "../../src/server/dashboard/answers.ts";
import type { Boundary, ChartLine } from "./chart.tsx";
import { type Cluster, clusterFindings, severityOf } from "./clusters.ts";
import { colour } from "./theme.ts";

const seriesColours = 8;
const font = "system-ui, sans-serif";

export function seriesColour(line: Pick<ChartLine, "colour">): string {
  return colour(`series-${line.colour % seriesColours}`);
}

/** Where the warm start ends: a line between its last step and the next, with a name on either side where there is room. */
export function drawBoundaries(plot: UPlot, boundaries: readonly Boundary[]): void {
  const { ctx: context, bbox } = plot;
  const { min = 0, max = 0 } = plot.scales.x ?? {};
  const scale = devicePixelRatio;
  context.save();
  context.font = `${10 * scale}px ${font}`;
  context.textBaseline = "top";
  // a dashed series leaves its dashes behind
  context.setLineDash([]);
  for (const { step, before, after } of boundaries) {
    if (step - 0.5 <= min || step - 0.5 >= max) continue;
    const x = Math.round(plot.valToPos(step - 0.5, "x", true));
    const top = bbox.top + 2 * scale;
    context.fillStyle = context.strokeStyle = colour("muted");
    context.lineWidth = scale;
    context.beginPath();
    context.moveTo(x, bbox.top);
    context.lineTo(x, bbox.top + bbox.height);
    context.stroke();
    const gap = 4 * scale;
    context.textAlign = "right";
    if (x - gap - context.measureText(before).width > bbox.left) context.fillText(before, x - gap, top);
    context.textAlign = "left";
    if (x + gap + context.measureText(after).width < bbox.left + bbox.width) context.fillText(after, x + gap, top);
  }
  context.restore();
}

/** Intervals, as bars with caps through their points. */
export function drawBars(plot: UPlot, lines: readonly ChartLine[]): void {
  const { ctx: context } = plot;
  const { min = 0, max = 0 } = plot.scales.x ?? {};
  const cap = 3.5 * devicePixelRatio;
  context.save();
  context.lineWidth = 1.25 * devicePixelRatio;
  context.setLineDash([]);
  for (const line of lines) {
    context.strokeStyle = seriesColour(line);
    for (const { step, low, high } of line.bars ?? []) {
      if (low === null || high === null || step < min || step > max) continue;
      const x = plot.valToPos(step, "x", true);
      const [top, bottom] = [plot.valToPos(high, "y", true), plot.valToPos(low, "y", true)];
      context.beginPath();
      context.moveTo(x, top);
      context.lineTo(x, bottom);
      for (const y of [top, bottom]) {
        context.moveTo(x - cap, y);
        context.lineTo(x + cap, y);
      }
      context.stroke();
    }
  }
  context.restore();
}

const apart = 16;

/** Findings in view, clustered; `x` in CSS pixels of the plotting area. */
export function clustersIn(plot: UPlot, findings: readonly ShownFinding[]): readonly Cluster[] {
  const { min = 0, max = 0 } = plot.scales.x ?? {};
  const inView = findings.filter(({ since }) => since >= min && since <= max);
  return clusterFindings(inView, (step) => plot.valToPos(step, "x"), apart);
}

/** A dashed line with a flag where findings began, and their number where there are several. */
export function drawClusters(plot: UPlot, clusters: readonly Cluster[]): void {
  const { ctx: context, bbox } = plot;
  const scale = devicePixelRatio;
  context.save();
  context.font = `600 ${10 * scale}px ${font}`;
  context.textBaseline = "top";
  for (const cluster of clusters) {
    const x = Math.round(bbox.left + cluster.x * scale) + 0.5;
    const severity = severityOf(cluster);
    context.strokeStyle = context.fillStyle = colour(
      severity === "error" ? "bad" : severity === "info" ? "muted" : "warn",
    );
    context.globalAlpha = 0.45;
    context.lineWidth = scale;
    context.setLineDash([3 * scale, 3 * scale]);
    context.beginPath();
    context.moveTo(x, bbox.top);
    context.lineTo(x, bbox.top + bbox.height);
    context.stroke();
    context.globalAlpha = 1;
    context.setLineDash([]);
    context.beginPath();
    // above the plotting area, where no curve is
    const top = bbox.top - 9 * scale;
    context.moveTo(x - 5 * scale, top);
    context.lineTo(x + 5 * scale, top);
    context.lineTo(x, bbox.top - scale);
    context.fill();
    const { length } = cluster.findings;
    if (length < 2) continue;
    const isRoom = x + 20 * scale < bbox.left + bbox.width;
    context.textAlign = isRoom ? "left" : "right";
    context.fillText(String(length), x + (isRoom ? 7 : -7) * scale, top);
  }
  context.restore();
}
