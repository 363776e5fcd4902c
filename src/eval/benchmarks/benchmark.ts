import type { ToolSpec } from "../../schema/message.ts";

/**
 * A public benchmark: reads its published files, asks a model, and gives the published score. Files are not shipped.
 *
 *     const gsm8k: Benchmark = {
 *       name: "gsm8k",
 *       description: "Grade school mathematics",
 *       files: "test.jsonl",
 *       load: async (folder) => (await readJsonLines(folder, "test.jsonl", Row)).map(toTask),
 *     };
 */
export interface Benchmark {
  readonly name: string;
  /** One line. */
  readonly description: string;
  /** What the folder of `--data` holds. */
  readonly files: string;
  /** Whether a user is simulated, whom `BenchmarkOptions.user` plays. */
  readonly hasUser?: boolean;
  /** Throws where the files are missing or of another form. */
  load(folder: string): Promise<readonly BenchmarkTask[]>;
  /** Writes what the benchmark's own tools read, beside the results; returns the paths. */
  write?(path: string, tasks: readonly BenchmarkTask[], attempts: readonly AttemptOutput[]): Promise<readonly string[]>;
}

/** What an attempt left behind. */
export interface AttemptOutput {
  readonly task: string;
  readonly attempt: number;
  readonly model: string;
  readonly success: boolean;
  readonly output?: Readonly<Record<string, unknown>> | undefined;
}

export interface BenchmarkTask {
  readonly id: string;
  /** What may have been in a training set: the question, without what is the same in every task. */
  readonly text: string;
  readonly category?: string;
  /** Asks the model, once or several times. What it throws is an infrastructure failure. */
  attempt(chat: Chat, context: AttemptContext): Promise<BenchmarkScore>;
}

export interface AttemptContext {
  readonly signal: AbortSignal;
  /** Whoever plays the user, where a benchmark has one. */
  readonly user?: Chat;
}

export interface BenchmarkScore {
  /** What pass@k counts: the benchmark's own success. */
  readonly success: boolean;
  /** Further published figures, such as `f1`; their mean is reported. */
  readonly metrics?: Readonly<Record<string, number>>;
  /** Kept in the results: a patch, for instance. */
  readonly output?: Readonly<Record<string, unknown>>;
}

export type BenchmarkMessage = Readonly<Record<string, unknown>> & { readonly role: string };

export interface ChatRequest {
  readonly messages: readonly BenchmarkMessage[];
  readonly tools?: readonly ToolSpec[];
}

export interface ChatReply {
  readonly text: string;
  readonly calls: readonly { readonly id: string; readonly name: string; readonly arguments: string }[];
}

/** A model, as a benchmark asks it. */
export type Chat = (request: ChatRequest) => Promise<ChatReply>;
