/** One thing that `npm run bench -- <name>` can measure. */
export interface Benchmark {
  readonly name: string;
  readonly summary: string;
  readonly help: string;
  run(args: readonly string[], context: BenchmarkContext): Promise<void>;
}

export interface BenchmarkContext {
  /** The repository. */
  root: string;
  /** Aborted by Ctrl-C: every child process ends at once. */
  signal: AbortSignal;
  /** A line of progress, on stderr: stdout is for results. */
  progress(line: string): void;
}
