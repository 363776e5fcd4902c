import { useMemo } from "react";
import type { RunEvent } from "../../../src/schema/run-event.ts";
import type {
  EventsAnswer,
  FailuresAnswer,
  FindingsAnswer,
  RunAnswer,
  ShownFinding,
} from "../../../src/server/dashboard/answers.ts";
import { useAnswer } from "../api.ts";
import { Copyable, CopyButton } from "../copy.tsx";
import { Curves } from "../curves.tsx";
import { FailureBanner, FailurePanel } from "../failures.tsx";
import { FindingList } from "../finding-list.tsx";
import { useLive } from "../live.ts";
import { percent, short } from "../numbers.ts";
import { Empty, Panel, ProblemNote } from "../pieces.tsx";
import { queryNumber, setQuery, usePlace } from "../router.tsx";
import { RunHead } from "../run-head.tsx";
import { RunPicker } from "../run-picker.tsx";
import { visible } from "../shown-text.tsx";
import { useTitle } from "../title.ts";

export const RunPage = ({ run }: { run: string }) => {
  const { query } = usePlace();
  const withRuns = query.getAll("with").join("\n");
  const runs = useMemo(() => [run, ...withRuns.split("\n").filter((id) => id !== "" && id !== run)], [run, withRuns]);
  const version = useLive(runs);
  const path = `/runs/${encodeURIComponent(run)}`;
  const { answer, problem } = useAnswer<RunAnswer>(path, version);
  const { answer: found } = useAnswer<FindingsAnswer>(`${path}/findings`, version);
  const { answer: failed } = useAnswer<FailuresAnswer>(`${path}/failures`, version);
  const findings = found?.findings ?? none;
  const names = answer?.metricNames.join("\n");
  const metricNames = useMemo(() => (names === undefined || names === "" ? [] : names.split("\n")), [names]);
  const heldOut = answer?.summary.heldOut?.last.success.mean;
  useTitle(heldOut === undefined ? undefined : percent(heldOut), run, answer?.summary.status);
  return (
    <>
      <RunHead run={run} answer={answer} />
      <ProblemNote problem={problem} />
      <FailureBanner answer={failed} error={answer?.error} />
      <FindingList findings={findings} isKnown={found !== undefined} hasFailures={(failed?.failures.length ?? 0) > 0} />
      <FailurePanel run={run} answer={failed} />
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
      <Configuration answer={answer} />
      <Commands directory={answer?.directory} />
    </>
  );
};

const Configuration = ({ answer }: { answer: RunAnswer | undefined }) => {
  const text = answer === undefined ? "" : JSON.stringify(answer.config, null, 2);
  return (
    <Panel title="Configuration" aside={<CopyButton label="Copy JSON" text={text} />}>
      <pre className="config">{visible(text)}</pre>
    </Panel>
  );
};

/** What else can be done with the run, where it has a folder. */
const Commands = ({ directory }: { directory: string | undefined }) => {
  if (directory === undefined) return null;
  const folder = /^[\w./-]+$/.test(directory) ? directory : `'${directory.replaceAll("'", "'\\''")}'`;
  const commands = ["doctor", "replay", "export", "serve"].map((command) => `npx ludus ${command} ${folder}`);
  return (
    <Panel title="Folder and commands">
      <ul className="commands">
        {[directory, ...commands].map((text) => (
          <li key={text}>
            <Copyable text={text} label={text} />
          </li>
        ))}
      </ul>
    </Panel>
  );
};

const none: readonly ShownFinding[] = [];

/** Without `step-end`: the curves show its metrics. */
const eventTypes: readonly RunEvent["type"][] = [
  "run-start",
  "phase-start",
  "eval-end",
  "checkpoint-saved",
  "failure",
  "finding",
  "warning",
  "run-end",
];

function eventText(event: RunEvent): string {
  if (event.type === "failure") {
    return `${event.count} × ${event.stop} in ${event.attempts} attempts: ${event.message}`;
  }
  if ("message" in event && event.message !== undefined) return event.message;
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
            <time>{new Date(time).toISOString().slice(11, 19)}</time> <b>{event.type}</b> step {step}{" "}
            {visible(eventText(event).slice(0, 500))}
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
