import type { RunAnswer, RunSummary } from "../../src/server/dashboard/answers.ts";
import { count, percent, percentRange, points, short, whole } from "./numbers.ts";
import { Ago, changeOf, Status, Took, trendOf } from "./pieces.tsx";
import { href, Link } from "./router.tsx";

/** What a run has come to: held-out success first, then training, progress and time. */
export const RunHead = ({ run, answer }: { run: string; answer: RunAnswer | undefined }) => {
  const summary = answer?.summary;
  return (
    <div className="head">
      <h1>
        <bdi>{run}</bdi> {summary && <Status status={summary.status} />}
      </h1>
      <p className="quiet">{[summary?.env, summary?.algorithm].filter(Boolean).join(" · ") || " "}</p>
      <dl className="headline">
        <HeldOutFigure run={run} summary={summary} />
        <div>
          <dt>Training reward</dt>
          <dd>{short(summary?.reward)}</dd>
          <dd className="quiet">mean of the last ten steps</dd>
        </div>
        <div>
          <dt>Training success</dt>
          <dd>{percent(summary?.success)}</dd>
          <dd className="quiet">mean of the last ten steps</dd>
        </div>
        <Progress summary={summary} />
        <div>
          <dt>Duration</dt>
          <dd>{summary === undefined ? "–" : <Took run={summary} />}</dd>
          <dd className="quiet">
            {summary === undefined ? "" : isOpen(summary) ? "last step " : "last change "}
            {summary !== undefined && <Ago time={summary.changed} />}
          </dd>
        </div>
      </dl>
      <RunLinks run={run} answer={answer} />
    </div>
  );
};

function isOpen({ status }: RunSummary): boolean {
  return status === "running" || status === "silent";
}

const HeldOutFigure = ({ run, summary }: { run: string; summary: RunSummary | undefined }) => {
  const heldOut = summary?.heldOut;
  if (heldOut === undefined) {
    return (
      <div className="main-figure">
        <dt>Held-out success</dt>
        <dd>–</dd>
        <dd className="quiet">
          {summary === undefined ? "" : isOpen(summary) ? "Not measured yet." : "Not measured."}
        </dd>
      </div>
    );
  }
  const { first, last } = heldOut;
  const change = changeOf(first.success.mean, last.success.mean);
  const isOnly = first.step === last.step;
  return (
    <div className="main-figure">
      <dt>Held-out success</dt>
      <dd>
        {percent(last.success.mean)} <small>{percentRange(last.success)}</small>
      </dd>
      <dd className="quiet">
        {last.tasks === undefined ? "" : `${count(last.tasks, "task")}, `}
        <Link href={heldOutHref(run, last.step)}>step {whole(last.step)}</Link>
        {!isOnly && change !== undefined && (
          <>
            ,{" "}
            <span className={trendOf(change)}>
              {points(change)} {Math.round(Math.abs(change) * 100) === 1 ? "point" : "points"}
            </span>{" "}
            from {percent(first.success.mean)} at step {whole(first.step)}
          </>
        )}
      </dd>
    </div>
  );
};

/** Episodes of an evaluation, the failed ones first. */
export function heldOutHref(run: string, step?: number): string {
  return href(["runs", run, "trajectories"], { split: "held-out", order: "worst", from: step, to: step });
}

const Progress = ({ summary }: { summary: RunSummary | undefined }) => {
  const { steps = 0, plannedSteps, warmStart } = summary ?? {};
  return (
    <div>
      <dt>Step</dt>
      <dd>
        {summary === undefined ? "–" : whole(steps)}
        {plannedSteps === undefined ? "" : ` / ${whole(plannedSteps)}`}
      </dd>
      <dd className="quiet">
        {warmStart !== undefined && `${whole(Math.min(steps, warmStart.steps))} of ${warmStart.name} `}
        {plannedSteps !== undefined && <progress max={plannedSteps} value={steps} aria-label="Progress" />}
      </dd>
    </div>
  );
};

const RunLinks = ({ run, answer }: { run: string; answer: RunAnswer | undefined }) => (
  <p className="links">
    <Link className="button" href={href(["runs", run, "trajectories"])}>
      Trajectories {answer === undefined ? "" : whole(answer.trajectories)}
    </Link>
    {answer !== undefined && answer.heldOut > 0 && (
      <Link className="button" href={heldOutHref(run)}>
        Held-out episodes {whole(answer.heldOut)}
      </Link>
    )}
    <Link className="button" href={href(["compare"], { run: [run] })}>
      Compare
    </Link>
    <Link className="button" href={href(["play"], { of: run, run: answer?.checkpoints.length ? run : undefined })}>
      Play
    </Link>
  </p>
);
