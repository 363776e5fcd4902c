import { useMemo } from "react";
import type { RunEvent } from "../../../src/schema/run-event.ts";
import type { EventsAnswer, FindingsAnswer, RunAnswer, ShownFinding } from "../../../src/server/dashboard/answers.ts";
import { useAnswer } from "../api.ts";
import { Curves } from "../curves.tsx";
import { useLive } from "../live.ts";
import { percent, short, whole } from "../numbers.ts";
import { Empty, Panel, ProblemNote, Status } from "../pieces.tsx";
import { href, Link, queryNumber, setQuery, usePlace } from "../router.tsx";
import { RunPicker } from "../run-picker.tsx";

export const RunPage = ({ run }: { run: string }) => {
  const { query } = usePlace();
  const withRuns = query.getAll("with").join("\n");
  const runs = useMemo(() => [run, ...withRuns.split("\n").filter((id) => id !== "" && id !== run)], [run, withRuns]);
  const version = useLive(runs);
  const path = `/runs/${encodeURIComponent(run)}`;
  const { answer, problem } = useAnswer<RunAnswer>(path, version);
  const { answer: found } = useAnswer<FindingsAnswer>(`${path}/findings`, version);
  const findings = found?.findings ?? none;
  const names = answer?.metricNames.join("\n");
  const metricNames = useMemo(() => (names === undefined || names === "" ? [] : names.split("\n")), [names]);
  return (
    <>
      <RunHead run={run} answer={answer} />
      <ProblemNote problem={problem} />
      <FindingList findings={findings} isKnown={found !== undefined} />
      <div className="tools overlay">
        <RunPicker label="Overlay another run" onPick={(id) => setQuery({ with: [...runs.slice(1), id] })} />
        {runs.slice(1).map((id) => (
          <button
            key={id}
            type="button"
            className="chip"
            onClick={() => setQuery({ with: runs.slice(1).filter((other) => other !== id) })}
          >
            <bdi>{id}</bdi> ×
          </button>
        ))}
      </div>
      {answer !== undefined && metricNames.length === 0 && <Empty>No metrics yet.</Empty>}
      <Curves runs={runs} metricNames={metricNames} findings={findings} version={version} />
      <EventList path={path} version={version} />
      <Panel title="Configuration">
        <pre className="config">{answer === undefined ? "" : JSON.stringify(answer.config, null, 2)}</pre>
      </Panel>
    </>
  );
};

const none: readonly ShownFinding[] = [];

const RunHead = ({ run, answer }: { run: string; answer: RunAnswer | undefined }) => {
  const summary = answer?.summary;
  return (
    <div className="head">
      <h1>
        <bdi>{run}</bdi> {summary && <Status status={summary.status} />}
      </h1>
      <p className="facts">
        <span>{[summary?.env, summary?.algorithm].filter(Boolean).join(" · ") || " "}</span>
        <span>
          <i>step</i> {summary === undefined ? "–" : whole(summary.steps)}
          {summary?.plannedSteps === undefined ? "" : ` / ${whole(summary.plannedSteps)}`}
        </span>
        <span>
          <i>reward</i> {short(summary?.reward)}
        </span>
        <span>
          <i>success</i> {percent(summary?.success)}
        </span>
      </p>
      <p className="links">
        <Link className="button" href={href(["runs", run, "trajectories"])}>
          Trajectories {answer === undefined ? "" : whole(answer.trajectories)}
        </Link>
        <Link className="button" href={href(["compare"], { run: [run] })}>
          Compare
        </Link>
        <Link
          className="button"
          href={href(["play"], { env: summary?.env, run: answer?.checkpoints.length ? run : undefined })}
        >
          Play
        </Link>
      </p>
    </div>
  );
};

const FindingList = ({ findings, isKnown }: { findings: readonly ShownFinding[]; isKnown: boolean }) => {
  if (!isKnown) return <div className="findings quiet">Running the doctor …</div>;
  if (findings.length === 0) return <div className="findings quiet">The doctor found no problems.</div>;
  return (
    <details className="findings" open={findings.length <= 4}>
      <summary>
        {findings.length} {findings.length === 1 ? "finding" : "findings"}
      </summary>
      <ul>
        {findings.slice(0, 100).map((finding) => (
          <li key={`${finding.code} ${finding.step} ${finding.message}`} className={finding.severity}>
            <b>{finding.code}</b> <span className="quiet">step {finding.step}</span> {finding.message}{" "}
            {finding.remedy && <em>{finding.remedy}</em>}
          </li>
        ))}
      </ul>
    </details>
  );
};

/** Without `step-end`: the curves show its metrics. */
const eventTypes: readonly RunEvent["type"][] = [
  "run-start",
  "phase-start",
  "eval-end",
  "checkpoint-saved",
  "finding",
  "warning",
  "run-end",
];

function eventText(event: RunEvent): string {
  if ("message" in event) return event.message;
  if ("reason" in event) return event.reason;
  if ("metrics" in event) {
    return Object.entries(event.metrics)
      .map(([name, value]) => `${name} ${short(value)}`)
      .join(", ");
  }
  return "";
}

const EventList = ({ path, version }: { path: string; version: number }) => {
  const { query } = usePlace();
  const after = queryNumber(query, "events", 0);
  const types = eventTypes.map((type) => `type=${type}`).join("&");
  const { answer } = useAnswer<EventsAnswer>(`${path}/events?limit=50&after=${after}&${types}`, version);
  return (
    <Panel title="Events">
      <ol className="events">
        {answer?.events.map(({ order, step, time, event }) => (
          <li key={order}>
            <time>{new Date(time).toISOString().slice(11, 19)}</time> <b>{event.type}</b> step {step} {eventText(event)}
          </li>
        ))}
      </ol>
      {answer?.events.length === 0 && <p className="quiet">None yet.</p>}
      <div className="tools">
        <button type="button" disabled={after === 0} onClick={() => setQuery({ events: undefined })}>
          First
        </button>
        <button type="button" disabled={answer?.next === undefined} onClick={() => setQuery({ events: answer?.next })}>
          Next
        </button>
      </div>
    </Panel>
  );
};
