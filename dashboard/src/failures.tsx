import type { FailuresAnswer, LostStep, ShownFailure } from "../../src/server/dashboard/answers.ts";
import { CopyButton } from "./copy.tsx";
import { count, whole } from "./numbers.ts";
import { Panel } from "./pieces.tsx";
import { href, Link } from "./router.tsx";
import { visible } from "./shown-text.tsx";

interface FailuresProps {
  readonly run: string;
  readonly answer: FailuresAnswer | undefined;
}

/** Said before everything else: the run ended with an error, or there are steps in which every attempt failed. */
export const FailureBanner = ({ answer, error }: Pick<FailuresProps, "answer"> & { error: string | undefined }) => {
  const { lost = [], failures = [] } = answer ?? {};
  if (lost.length === 0 && error === undefined) return null;
  return (
    <div className="banner" role="alert">
      {lost.length > 0 && (
        <p>
          <strong>Every attempt failed</strong> {lostText(lost)}: nothing could be learned or measured there.
          {failures[0] !== undefined && <> {visible(firstLine(failures[0].message))}</>}
        </p>
      )}
      {error !== undefined && (
        <p>
          <strong>The run ended with an error:</strong> <span className="preserved">{visible(error)}</span>{" "}
          <CopyButton label="Copy" text={error} what="the error" />
        </p>
      )}
    </div>
  );
};

function lostText(lost: readonly LostStep[]): string {
  const [first] = lost;
  const where = { training: "in training", evaluation: "in evaluation", demonstration: "in demonstrations" };
  const kinds = [...new Set(lost.map(({ during }) => where[during]))].join(" and ");
  if (lost.length === 1) return `${kinds} at step ${whole(first.step)} (${count(first.attempts, "attempt")})`;
  return `${kinds} at ${count(lost.length, "step")}, from step ${whole(first.step)} to ${whole(lost.at(-1)!.step)}`;
}

/** What failed through no fault of the policy, by what it said. Nothing where nothing did. */
export const FailurePanel = ({ run, answer }: FailuresProps) => {
  if (answer === undefined || answer.failures.length === 0) return null;
  const { failures } = answer;
  const total = failures.reduce((sum, failure) => sum + failure.count, 0);
  return (
    <Panel title="Failures" aside={<span className="quiet">{count(total, "attempt")}, no fault of the policy</span>}>
      <ul className="failures">
        {failures.map((failure) => (
          <FailureItem key={`${failure.during} ${failure.stop} ${failure.message}`} run={run} failure={failure} />
        ))}
      </ul>
    </Panel>
  );
};

const FailureItem = ({ run, failure }: { run: string; failure: ShownFailure }) => {
  const { message, at, firstStep, lastStep, stop, during, example } = failure;
  const text = at === undefined ? message : `${message}\n    ${at}`;
  return (
    <li>
      <p className="facts">
        <b>{whole(failure.count)} ×</b>
        <span className="broken">{stop}</span>
        <span>{during}</span>
        <span>
          {firstStep === lastStep ? `step ${whole(firstStep)}` : `steps ${whole(firstStep)}–${whole(lastStep)}`}
        </span>
        {example === undefined ? (
          <span className="quiet">ended before its first message: no episode to show</span>
        ) : (
          <Link href={href(["runs", run, "trajectories", example])}>Example episode</Link>
        )}
        <Link href={href(["runs", run, "trajectories"], { split: "any", stop, from: firstStep, to: lastStep })}>
          All {stop}
        </Link>
        <CopyButton label="Copy" text={text} what="the failure" />
      </p>
      <div className="text failure" dir="auto">
        {visible(text || "(no text)")}
      </div>
    </li>
  );
};

function firstLine(text: string): string {
  const [line] = text.split("\n");
  return line.length > 200 ? `${line.slice(0, 200)} …` : line;
}
