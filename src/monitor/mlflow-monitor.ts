import { wallClock } from "../clock.ts";
import { defined } from "../defined.ts";
import { errorText, LudusError } from "../errors.ts";
import { type KnownOptions, refuseUnknownOptions } from "../known-options.ts";
import { jsonReal } from "../schema/json-real.ts";
import type { RunEndReason } from "../schema/run-event.ts";
import { MlflowClient, type MlflowMetric } from "./mlflow/client.ts";
import type { Monitor } from "./monitor.ts";

export interface MlflowMonitorOptions {
  /** Of the tracking server, such as `http://localhost:5000`; MLFLOW_TRACKING_URI by default. */
  url?: string;
  /** By name; made where it is not there. */
  experiment: string;
  /** The name of the run; that of the environment by default. */
  name?: string;
  /** A run to go on with, such as that of a run that is resumed; a new one by default. */
  runId?: string;
  params?: Readonly<Record<string, string | number | boolean>>;
  tags?: Readonly<Record<string, string>>;
  /** Sent as a bearer token; MLFLOW_TRACKING_TOKEN by default. */
  token?: string;
  /** For each request. */
  timeoutMs?: number;
  /** Milliseconds since 1970. */
  now?: () => number;
}

const known: KnownOptions<MlflowMonitorOptions> = {
  ...{ url: true, experiment: true, name: true, runId: true, params: true, tags: true, token: true, timeoutMs: true },
  now: true,
};

/**
 * Sends the metrics of steps and evaluations to an MLflow tracking server, in the background: training does not wait for it. A
 * server that cannot be reached is reported once, and the run continues without it.
 */
export function mlflowMonitor(options: MlflowMonitorOptions): Monitor {
  refuseUnknownOptions("mlflowMonitor()", options, known);
  const { url = process.env.MLFLOW_TRACKING_URI, token = process.env.MLFLOW_TRACKING_TOKEN, now = wallClock } = options;
  if (url === undefined || !/^https?:\/\//.test(url)) {
    throw new LudusError("bad-config", {
      got: url === undefined ? "no `url` and no MLFLOW_TRACKING_URI" : `url ${JSON.stringify(url)}`,
      expected: "the address of a tracking server, such as http://localhost:5000",
      hint: "mlflow server --backend-store-uri sqlite:///mlflow.db starts one.",
    });
  }
  const client = new MlflowClient({ url, timeoutMs: options.timeoutMs ?? 10_000, ...defined({ token }) });
  return new MlflowRun(client, options, now);
}

const statuses: Readonly<Record<RunEndReason, string>> = {
  finished: "FINISHED",
  "early-stop": "FINISHED",
  "time-budget": "FINISHED",
  "token-budget": "FINISHED",
  stopped: "KILLED",
  doctor: "KILLED",
  failed: "FAILED",
};

class MlflowRun implements Monitor {
  readonly name = "mlflow";
  readonly #client: MlflowClient;
  readonly #options: MlflowMonitorOptions;
  readonly #now: () => number;
  #run: Promise<string> | undefined;
  #metrics: MlflowMetric[] = [];
  #sending: Promise<void> = Promise.resolve();
  #isWaiting = false;
  #error: unknown;
  #isClosed = false;

  constructor(client: MlflowClient, options: MlflowMonitorOptions, now: () => number) {
    this.#client = client;
    this.#options = options;
    this.#now = now;
  }

  record(event: Parameters<Monitor["record"]>[0]): void {
    if (this.#isClosed) {
      const expected = "a new monitor for every run";
      throw new LudusError("monitor-closed", { got: "an event for MLflow after its monitor was closed", expected });
    }
    this.#throwIfFailed();
    this.#run ??= this.#begin(event.type === "run-start" ? event.name : "run");
    if (event.type === "step-end" || event.type === "eval-end") {
      const timestamp = Math.floor(this.#now());
      for (const [name, value] of Object.entries(event.metrics)) {
        this.#metrics.push({ key: metricKey(name), value: jsonReal(value), timestamp, step: event.step });
      }
      this.#sendMetrics();
    }
    if (event.type !== "run-end") return;
    const [status, ended] = [statuses[event.reason], Math.floor(this.#now())];
    this.#queue(async (run) => this.#client.updateRun(run, status, ended));
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#sending;
    this.#throwIfFailed();
  }

  #begin(name: string): Promise<string> {
    const { experiment, runId, params = {}, tags = {} } = this.#options;
    const starting = async () => {
      if (runId !== undefined) return runId;
      const startTime = Math.floor(this.#now());
      const runName = (this.#options.name ?? name).slice(0, 250);
      const run = await this.#client.createRun(await this.#client.experimentId(experiment), {
        runName,
        startTime,
        tags,
      });
      await this.#client.logParams(run, params);
      return run;
    };
    const run = starting();
    // whoever waits for it is told too
    run.catch(() => {});
    this.#queue(async () => {});
    return run;
  }

  /** What has gathered since the last request went out goes with the next one. */
  #sendMetrics(): void {
    if (this.#isWaiting) return;
    this.#isWaiting = true;
    this.#queue(async (run) => {
      this.#isWaiting = false;
      const metrics = this.#metrics.splice(0);
      await this.#client.logMetrics(run, metrics);
    });
  }

  #queue(send: (run: string) => Promise<void>): void {
    this.#sending = this.#sending.then(async () => {
      if (this.#error !== undefined) return;
      try {
        await send(await this.#run!);
      } catch (error) {
        this.#error = error;
      }
    });
  }

  #throwIfFailed(): void {
    if (this.#error === undefined) return;
    const error = this.#error;
    this.#error = undefined;
    this.#isClosed = true;
    throw error instanceof LudusError ? error : new Error(errorText(error), { cause: error });
  }
}

/** MLflow takes letters, digits and `_-. :/`, 250 of them at most. */
function metricKey(name: string): string {
  return name.replaceAll(/[^\w\-. :/]/g, "_").slice(0, 250) || "_";
}
