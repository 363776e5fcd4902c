import type { LongText, ShownTurn } from "../../src/server/dashboard/answers.ts";
import { setQuery } from "./router.tsx";
import { ShownText, visible } from "./shown-text.tsx";

/** What a turn did to code: edits as a diff, or a run of the tests with what it printed. */
interface CodeStep {
  readonly number: number;
  readonly diff: readonly string[];
  readonly tests: { readonly passed: boolean; readonly output: LongText } | undefined;
}

export function codeStepsOf(turns: readonly ShownTurn[]): CodeStep[] {
  return turns.flatMap((turn, i) => {
    const { diff = "", tests } = turn.info ?? {};
    const isTested = tests === "passed" || tests === "failed";
    const isDiff = typeof diff === "string" && diff.startsWith("--- ");
    if (!isTested && !isDiff) return [];
    const output = turn.calls.at(-1)?.observation ?? turn.observation;
    return {
      number: i + 1,
      diff: isDiff ? diff.split("\n") : [],
      tests: isTested ? { passed: tests === "passed", output } : undefined,
    };
  });
}

const maxLines = 200;

/** An episode on code: what was changed, and what the tests said before and after. */
export const CodeChanges = ({ turns }: { turns: readonly ShownTurn[] }) => {
  const steps = codeStepsOf(turns);
  if (steps.length === 0) return null;
  return (
    <section className="code-changes" aria-label="Changes and tests">
      {steps.map(({ number, diff, tests }) => (
        <div key={number} className="code-step">
          <h3>
            <button type="button" className="anchor" title="To this turn" onClick={() => setQuery({ turn: number })}>
              Turn {number}
            </button>
            {tests !== undefined && (
              <span className={tests.passed ? "passed" : "failed"}>{tests.passed ? "tests pass" : "tests fail"}</span>
            )}
            {diff.length > 0 && <span className="quiet">edit</span>}
          </h3>
          {diff.length > 0 && <Diff lines={diff} />}
          {tests !== undefined && <ShownText text={tests.output} />}
        </div>
      ))}
    </section>
  );
};

const Diff = ({ lines }: { lines: readonly string[] }) => (
  <pre className="diff">
    {lines.slice(0, maxLines).map((line, i) => (
      // biome-ignore lint/suspicious/noArrayIndexKey: lines are never reordered
      <span key={i} className={kindOf(line)}>
        {visible(line.slice(0, 300))}
        {"\n"}
      </span>
    ))}
    {lines.length > maxLines && <span className="quiet">{lines.length - maxLines} more lines</span>}
  </pre>
);

function kindOf(line: string): string {
  if (/^(---|\+\+\+|@@) /.test(line)) return "place";
  if (line.startsWith("+")) return "added";
  return line.startsWith("-") ? "gone" : "";
}
