import { infrastructureStops, isInfrastructureStop, policyStops } from "../../../src/schema/stop-reason.ts";
import type { RunAnswer, ShownSummary, TrajectoriesAnswer } from "../../../src/server/dashboard/answers.ts";
import { useAnswer } from "../api.ts";
import { useLive } from "../live.ts";
import { count, short, whole } from "../numbers.ts";
import { Empty, ProblemNote } from "../pieces.tsx";
import { href, Link, setQuery, usePlace } from "../router.tsx";
import { useTitle } from "../title.ts";

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
  "order",
  "task",
  "rollout",
] as const;

/** How many there are without filters. */
function totalOf(about: RunAnswer | undefined, split: string | null): number | undefined {
  if (about === undefined) return undefined;
  if (split === "any") return about.trajectories + about.heldOut;
  return split === "held-out" ? about.heldOut : about.trajectories;
}

/** Trajectories of a run, newest first or worst first. The filters are in the address, so that a link keeps them. */
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
  const { answer: counted } = useAnswer<{ count: number }>(`${base}/count?${withoutOrder(filter)}`, shownVersion);
  const { answer: about } = useAnswer<RunAnswer>(base);
  const isHeldOut = query.get("split") === "held-out";
  const isWorst = query.get("order") === "worst";
  useTitle(isHeldOut ? "Held-out episodes" : "Trajectories", run);
  return (
    <>
      <div className="head">
        <h1>
          <Link href={href(["runs", run])}>
            <bdi>{run}</bdi>
          </Link>{" "}
          {isHeldOut ? "held-out episodes" : "trajectories"}
        </h1>
        <p className="quiet">
          {counted === undefined
            ? " "
            : `${whole(counted.count)} of ${whole(totalOf(about, query.get("split")) ?? counted.count)}`}
        </p>
      </div>
      <Filters />
      <ProblemNote problem={problem} />
      <div className={`table trajectories${isLoading ? " loading" : ""}`}>
        {answer?.trajectories.map((summary) => (
          <TrajectoryRow key={summary.key} run={run} summary={summary} />
        ))}
      </div>
      {answer?.trajectories.length === 0 && (
        <Empty>
          {isHeldOut
            ? "No held-out episode is stored, or none matches these filters."
            : "No trajectory matches these filters."}
        </Empty>
      )}
      <div className="tools">
        <button type="button" disabled={after === ""} onClick={() => setQuery({ after: undefined })}>
          {isWorst ? "First" : "Newest"}
        </button>
        <button type="button" disabled={answer?.next === undefined} onClick={() => setQuery({ after: answer?.next })}>
          {isWorst ? "Next" : "Older"}
        </button>
      </div>
    </>
  );
};

/** The number of episodes does not depend on their order. */
function withoutOrder(filter: URLSearchParams): URLSearchParams {
  const rest = new URLSearchParams(filter);
  rest.delete("order");
  return rest;
}

const Outcome = ({ success }: { success: boolean }) => (
  <>
    <span className={`dot ${success ? "good" : "bad"}`} aria-hidden="true" title={success ? "solved" : "not solved"} />
    <span className="unseen">{success ? "solved" : "not solved"}</span>
  </>
);

const TrajectoryRow = ({ run, summary }: { run: string; summary: ShownSummary }) => (
  <Link data-row className="row" href={href(["runs", run, "trajectories", summary.key])}>
    <span className="number">
      <i>step</i> {summary.step}
    </span>
    <span className="outcome">
      <Outcome success={summary.success} />
    </span>
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
      <select aria-label="Split" {...field("split")}>
        <option value="">training</option>
        <option value="held-out">held-out</option>
        <option value="any">training and held-out</option>
      </select>
      <select aria-label="Order" {...field("order")}>
        <option value="">newest first</option>
        <option value="oldest">oldest first</option>
        <option value="worst">failed first</option>
      </select>
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
