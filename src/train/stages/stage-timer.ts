import { metric } from "../../schema/metric-names.ts";

export interface StageTimer {
  time<Value>(stage: string, work: () => Promise<Value>): Promise<Value>;
  /** Seconds of each stage so far. */
  readonly metrics: Readonly<Record<string, number>>;
}

export function stageTimer(): StageTimer {
  const metrics: Record<string, number> = {};
  return {
    async time(stage, work) {
      const started = performance.now();
      const value = await work();
      const name = metric.seconds(stage);
      metrics[name] = (metrics[name] ?? 0) + (performance.now() - started) / 1000;
      return value;
    },
    metrics,
  };
}
