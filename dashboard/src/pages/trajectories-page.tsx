import { infrastructureStops, isInfrastructureStop, policyStops } from "../../../src/schema/stop-reason.ts";
import type { RunAnswer, ShownSummary, TrajectoriesAnswer } from "../../../src/server/dashboard/answers.ts";
import { useAnswer } from "../api.ts";
import { useLive } from "../live.ts";
import { count, short, whole } from "../numbers.ts";
import { Empty, ProblemNote } from "../pieces.tsx";
import { href, Link, setQuery, usePlace } from "../router.tsx";

export const filterNames = [
  "text",
  "success",
  "stop",
  "hint",
  "tool",
  "min",
  "max",
  "from",
  "to",
  "split",
  "task",
  "rollout",
] as const;

/** Trajectories of a run, newest first. The filters are in the address, so that a link keeps them. */
export const TrajectoriesPage = ({ run }: { run: string }) => {
  const { query } = usePlace();
  const version = useLive([run]);
  const filter = new URLSearchParams(
    filterNames.flatMap((name) => (query.get(name) ? [[name, query.get(name)!]] : [])),
  );
  const after = query.get("after") ?? "";
  const base = `/runs/${encodeURIComponent(run)}`;
  // older pages do not change: only the newest one is refreshed
  const shownVersion = after === "" ? version : 0;
  const list = `${base}/trajectories?limit=50&${filter}${after === "" ? "" : `&after=${after}`}`;
  const { answer, problem, isLoading } = useAnswer<TrajectoriesAnswer>(list, shownVersion);
  const { answer: counted } = useAnswer<{ count: number }>(`${base}/count?${filter}`, shownVersion);
  const { answer: about } = useAnswer<RunAnswer>(base);
  return (
    <>
      <div className="head">
        <h1>
          <Link href={href(["runs", run])}>
            <bdi>{run}</bdi>
          </Link>{" "}
          trajectories
        </h1>
        <p className="quiet">
          {counted === undefined ? " " : `${whole(counted.count)} of ${whole(about?.trajectories ?? counted.count)}`}
        </p>
      </div>
      <Filters />
      <ProblemNote problem={problem} />
      <div className={`table trajectories${isLoading ? " loading" : ""}`}>
        {answer?.trajectories.map((summary) => (
          <TrajectoryRow key={summary.key} run={run} summary={summary} />
        ))}
      </div>
      {answer?.trajectories.length === 0 && <Empty>No trajectory matches these filters.</Empty>}
      <div className="tools">
        <button type="button" disabled={after === ""} onClick={() => setQuery({ after: undefined })}>
          Newest
        </button>
        <button type="button" disabled={answer?.next === undefined} onClick={() => setQuery({ after: answer?.next })}>
          Older
        </button>
      </div>
    </>
  );
};

const TrajectoryRow = ({ run, summary }: { run: string; summary: ShownSummary }) => (
  <Link data-row className="row" href={href(["runs", run, "trajectories", summary.key])}>
    <span className="number">
      <i>step</i> {summary.step}
    </span>
    <span className={`dot ${summary.success ? "good" : "bad"}`} title={summary.success ? "solved" : "not solved"} />
    <span className="number">
      <i>reward</i> {short(summary.reward)}
    </span>
    <span className="name">
      <bdi>{summary.taskId}</bdi>
    </span>
    <span className={`stop ${isInfrastructureStop(summary.stop) ? "broken" : ""}`}>{summary.stop}</span>
    <span className="number">{count(summary.turns, "turn")}</span>
    <span className="number">{count(summary.tokens, "token")}</span>
    <span className="what">
      <bdi>{summary.tools.join(", ")}</bdi>
    </span>
  </Link>
);

const Filters = () => {
  const { query } = usePlace();
  const field = (name: string) => ({
    value: query.get(name) ?? "",
    onChange: (event: { target: { value: string } }) => setQuery({ [name]: event.target.value, after: undefined }),
  });
  const hasAny = filterNames.some((name) => query.get(name));
  return (
    <form className="tools filters" onSubmit={(event) => event.preventDefault()}>
      <input
        data-search
        type="search"
        placeholder="Search text (prefix* works)"
        aria-label="Search in text"
        {...field("text")}
      />
      <select aria-label="Success" {...field("success")}>
        <option value="">any outcome</option>
        <option value="true">solved</option>
        <option value="false">not solved</option>
      </select>
      <select aria-label="Stop reason" {...field("stop")}>
        <option value="">any stop reason</option>
        {[...policyStops, ...infrastructureStops].map((stop) => (
          <option key={stop}>{stop}</option>
        ))}
      </select>
      <select aria-label="Hints" {...field("hint")}>
        <option value="">with or without hint</option>
        <option value="true">with hint</option>
        <option value="false">without hint</option>
      </select>
      <input className="small" placeholder="tool" aria-label="Tool" {...field("tool")} />
      <input className="small" placeholder="task" aria-label="Task" {...field("task")} />
      <span className="zoom">
        reward
        <input type="number" step="any" placeholder="min" aria-label="Minimum reward" {...field("min")} />–
        <input type="number" step="any" placeholder="max" aria-label="Maximum reward" {...field("max")} />
      </span>
      <span className="zoom">
        steps
        <input type="number" min="0" placeholder="first" aria-label="First step" {...field("from")} />–
        <input type="number" min="0" placeholder="last" aria-label="Last step" {...field("to")} />
      </span>
      <button
        type="button"
        disabled={!hasAny}
        onClick={() => setQuery(Object.fromEntries([...filterNames, "after"].map((name) => [name, undefined])))}
      >
        Clear
      </button>
    </form>
  );
};
