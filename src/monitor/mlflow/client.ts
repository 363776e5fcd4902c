import { z } from "zod";
import { errorText, LudusError } from "../../errors.ts";
import type { JsonReal } from "../../schema/json-real.ts";

export interface MlflowMetric {
  readonly key: string;
  readonly value: JsonReal;
  /** Milliseconds since 1970, whole. */
  readonly timestamp: number;
  readonly step: number;
}

interface ClientOptions {
  readonly url: string;
  readonly token?: string;
  readonly timeoutMs: number;
}

const Failure = z.object({ error_code: z.string().optional(), message: z.string().optional() });
const Found = z.object({ experiment: z.object({ experiment_id: z.string() }) });
const Created = z.object({ experiment_id: z.string() });
const CreatedRun = z.object({ run: z.object({ info: z.object({ run_id: z.string() }) }) });

/** The server takes so many in one request. */
const maxMetrics = 1000;
const maxParams = 100;

/** The part of MLflow's REST interface (2.0) that a run needs. */
export class MlflowClient {
  readonly #options: ClientOptions;

  constructor(options: ClientOptions) {
    this.#options = options;
  }

  async experimentId(name: string): Promise<string> {
    const find = async () =>
      this.#call("GET", `experiments/get-by-name?experiment_name=${encodeURIComponent(name)}`, undefined, Found);
    const found = await orAbsent(find, "RESOURCE_DOES_NOT_EXIST");
    if (found !== undefined) return found.experiment.experiment_id;
    const create = async () => this.#call("POST", "experiments/create", { name }, Created);
    // another run may have made it meanwhile
    const created = await orAbsent(create, "RESOURCE_ALREADY_EXISTS");
    return created?.experiment_id ?? (await find()).experiment.experiment_id;
  }

  async createRun(
    experimentId: string,
    run: { readonly runName: string; readonly startTime: number; readonly tags: Readonly<Record<string, string>> },
  ): Promise<string> {
    const body = {
      experiment_id: experimentId,
      run_name: run.runName,
      start_time: run.startTime,
      tags: pairs(run.tags),
    };
    return (await this.#call("POST", "runs/create", body, CreatedRun)).run.info.run_id;
  }

  async logMetrics(runId: string, metrics: readonly MlflowMetric[]): Promise<void> {
    for (let at = 0; at < metrics.length; at += maxMetrics) {
      const body = { run_id: runId, metrics: metrics.slice(at, at + maxMetrics) };
      await this.#call("POST", "runs/log-batch", body, z.unknown());
    }
  }

  async logParams(runId: string, params: Readonly<Record<string, string | number | boolean>>): Promise<void> {
    const all = pairs(params);
    for (let at = 0; at < all.length; at += maxParams) {
      await this.#call("POST", "runs/log-batch", { run_id: runId, params: all.slice(at, at + maxParams) }, z.unknown());
    }
  }

  async updateRun(runId: string, status: string, endTime: number): Promise<void> {
    await this.#call("POST", "runs/update", { run_id: runId, status, end_time: endTime }, z.unknown());
  }

  async #call<Answer>(method: string, path: string, body: unknown, answer: z.ZodType<Answer>): Promise<Answer> {
    const { url, token, timeoutMs } = this.#options;
    const headers = {
      "content-type": "application/json",
      ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
    };
    const where = `${url.replace(/\/+$/, "")}/api/2.0/mlflow/${path}`;
    const signal = AbortSignal.timeout(timeoutMs);
    let [status, text] = [0, ""];
    try {
      const response = await fetch(where, {
        method,
        headers,
        signal,
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      });
      [status, text] = [response.status, await response.text()];
    } catch (cause) {
      const reason = cause instanceof Error && cause.cause instanceof Error ? cause.cause.message : errorText(cause);
      throw unreachable(where, reason, cause);
    }
    if (status >= 200 && status < 300) return parsed(text, answer, where);
    const failure = Failure.safeParse(jsonOf(text));
    const { error_code: code = "", message = text.slice(0, 200) } = failure.success ? failure.data : {};
    throw new MlflowRefusal(code, `${where.split("?")[0]}: ${status} ${code} ${message}`.trim());
  }
}

class MlflowRefusal extends LudusError {
  readonly reason: string;

  constructor(reason: string, got: string) {
    super("mlflow-refused", { got, expected: "a tracking server that takes it" });
    this.reason = reason;
  }
}

async function orAbsent<Value>(ask: () => Promise<Value>, reason: string): Promise<Value | undefined> {
  try {
    return await ask();
  } catch (error) {
    if (error instanceof MlflowRefusal && error.reason === reason) return undefined;
    throw error;
  }
}

function parsed<Answer>(text: string, answer: z.ZodType<Answer>, where: string): Answer {
  const result = answer.safeParse(jsonOf(text));
  if (result.success) return result.data;
  throw unreachable(where, `an answer that is not MLflow's: ${text.slice(0, 100)}`, result.error);
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function unreachable(where: string, reason: string, cause: unknown): LudusError {
  return new LudusError("mlflow-unreachable", {
    got: `${where.split("?")[0]}: ${reason}`,
    expected: "an MLflow tracking server there",
    hint: "mlflow server --backend-store-uri sqlite:///mlflow.db starts one.",
    cause,
  });
}

function pairs(values: Readonly<Record<string, unknown>>): { key: string; value: string }[] {
  return Object.entries(values).map(([key, value]) => ({ key, value: String(value) }));
}
