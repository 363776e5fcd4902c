import { useEffect, useState } from "react";
import {
  type FindingCounts,
  type FindingCountsAnswer,
  type RunSort,
  type RunSummary,
  type RunsAnswer,
  runSorts,
} from "../../../src/server/dashboard/answers.ts";
import { get, useAnswer } from "../api.ts";
import { useLive } from "../live.ts";
import { count, short, whole } from "../numbers.ts";
import { Ago, Empty, HeldOut, ProblemNote, Spark, Status, Took } from "../pieces.tsx";
import { go, href, Link, queryNumber, setQuery, usePlace } from "../router.tsx";
import { useTitle } from "../title.ts";

const pageSize = 25;

/** Columns in order: what the head says, and how the list is sorted by it. */
const columns: readonly (readonly [label: string, sort: RunSort, hint?: string])[] = [
  ["Run", "name"],
  ["Status", "status"],
  ["Environment", "env"],
  ["Held-out success", "heldOut", "Of the last evaluation: 95 % interval, and percentage points since the first"],
  ["Training reward", "reward", "Over the run, and the mean of the last ten steps"],
  ["Steps", "steps"],
  ["Duration", "duration"],
  ["Findings", "findings", "What the doctor found: errors and warnings"],
  ["Last change", "changed"],
];

export const RunsPage = () => {
  const { query } = usePlace();
  const version = useLive([]);
  const search = query.get("search") ?? "";
  const skip = queryNumber(query, "skip", 0);
  const { sort, order } = sortOf(query);
  const [chosen, setChosen] = useState<readonly string[]>([]);
  const [round, setRound] = useState(0);
  const asked = new URLSearchParams({ search, skip: String(skip), limit: String(pageSize) });
  if (sort !== "changed" || order !== "down") asked.set("sort", sort);
  if (order !== "down") asked.set("order", order);
  const { answer, problem, isLoading } = useAnswer<RunsAnswer>(`/runs?${asked}`, version + round);
  const findings = useFindings(answer?.runs ?? []);
  const unexamined = answer?.unexamined ?? 0;
  useEffect(() => {
    if (unexamined > 0) setRound((before) => before + 1);
  }, [unexamined]);
  const choose = (id: string, isChosen: boolean) =>
    setChosen((before) => (isChosen ? [...before, id] : before.filter((other) => other !== id)));
  useTitle(search === "" ? "Runs" : `Runs: ${search}`);
  return (
    <>
      <h1 className="unseen">Runs</h1>
      <div className="tools">
        <input
          data-search
          type="search"
          placeholder="Find runs by name"
          aria-label="Find runs by name"
          value={search}
          onChange={(event) => setQuery({ search: event.target.value, skip: undefined })}
        />
        <span className="quiet" role="status">
          {answer === undefined ? "" : listText(answer.total, sort, order)}
          {unexamined > 0 && `; the doctor is looking at ${whole(unexamined)} more`}
        </span>
        <button type="button" disabled={chosen.length < 2} onClick={() => go(href(["compare"], { run: chosen }))}>
          Compare {chosen.length > 0 ? chosen.length : ""}
        </button>
      </div>
      <ProblemNote problem={problem} />
      {answer !== undefined && answer.total > 0 && (
        <table className={`list runs${isLoading ? " loading" : ""}`}>
          <thead>
            <tr>
              <td />
              {columns.map(([label, by, hint]) => (
                <th
                  key={by}
                  scope="col"
                  aria-sort={by !== sort ? undefined : order === "up" ? "ascending" : "descending"}
                >
                  <button type="button" title={hint} onClick={() => setQuery(nextSort(by, sort, order))}>
                    {label} <span aria-hidden="true">{by !== sort ? "" : order === "up" ? "▲" : "▼"}</span>
                  </button>
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {answer.runs.map((run) => (
              <RunRow
                key={run.id}
                run={run}
                found={findings.get(run.id)}
                isChosen={chosen.includes(run.id)}
                onChoose={(is) => choose(run.id, is)}
              />
            ))}
          </tbody>
        </table>
      )}
      {answer?.total === 0 && (search === "" ? <NoRuns /> : <Empty>No run matches this search.</Empty>)}
      <Pager skip={skip} total={answer?.total ?? 0} isNewest={sort === "changed" && order === "down"} />
    </>
  );
};

const NoRuns = () => (
  <Empty>
    No runs yet. They appear here once training starts: <code>npx ludus train train.ts</code>
  </Empty>
);

type Order = "up" | "down";

function sortOf(query: URLSearchParams): { sort: RunSort; order: Order } {
  const sort = runSorts.find((each) => each === query.get("sort")) ?? "changed";
  return { sort, order: query.get("order") === "up" ? "up" : "down" };
}

/** Words begin with a, numbers with the largest; the same column again turns the order. */
function nextSort(by: RunSort, sort: RunSort, order: Order) {
  const first: Order = by === "name" || by === "status" || by === "env" ? "up" : "down";
  const next = by !== sort ? first : order === "up" ? "down" : "up";
  const isDefault = by === "changed" && next === "down";
  return { sort: isDefault ? undefined : by, order: next === "up" ? "up" : undefined, skip: undefined };
}

function listText(total: number, sort: RunSort, order: Order): string {
  if (sort === "changed") return `${count(total, "run")}, ${order === "down" ? "newest" : "oldest"} first`;
  const label = columns.find(([, by]) => by === sort)![0].toLowerCase();
  return `${count(total, "run")}, by ${label}`;
}

/** The doctor's findings of the runs that are shown, asked for one run after the other: the list does not wait for them. */
function useFindings(runs: readonly RunSummary[]): ReadonlyMap<string, FindingCounts> {
  const [known, setKnown] = useState<ReadonlyMap<string, FindingCounts>>(new Map());
  const wanted = runs.filter(({ problem }) => problem === undefined).map(({ id, changed }) => ({ id, changed }));
  const key = JSON.stringify(wanted);
  // biome-ignore lint/correctness/useExhaustiveDependencies: `key` is `wanted`
  useEffect(() => {
    const stop = new AbortController();
    const ask = async () => {
      for (const { id } of wanted) {
        const { runs: found } = await get<FindingCountsAnswer>(`/findings?run=${encodeURIComponent(id)}`, stop.signal);
        if (stop.signal.aborted) return;
        setKnown((before) => new Map([...before, ...found.map((counts) => [counts.run, counts] as const)]));
      }
    };
    // a row without findings says that they are not known
    ask().catch(() => {});
    return () => stop.abort();
  }, [key]);
  return known;
}

const Pager = ({ skip, total, isNewest }: { skip: number; total: number; isNewest: boolean }) =>
  total <= pageSize ? null : (
    <div className="tools">
      <button
        type="button"
        disabled={skip === 0}
        onClick={() => setQuery({ skip: Math.max(0, skip - pageSize) || undefined })}
      >
        {isNewest ? "Newer" : "Previous"}
      </button>
      <span className="quiet">
        {whole(skip + 1)}–{whole(Math.min(total, skip + pageSize))} of {whole(total)}
      </span>
      <button type="button" disabled={skip + pageSize >= total} onClick={() => setQuery({ skip: skip + pageSize })}>
        {isNewest ? "Older" : "Next"}
      </button>
    </div>
  );

interface RowProps {
  readonly run: RunSummary;
  readonly found: FindingCounts | undefined;
  readonly isChosen: boolean;
  readonly onChoose: (isChosen: boolean) => void;
}

const RunRow = ({ run, found, isChosen, onChoose }: RowProps) => (
  <tr className="row">
    <td className="choose">
      <input
        type="checkbox"
        aria-label={`Select ${run.id} for comparison`}
        checked={isChosen}
        onChange={(event) => onChoose(event.target.checked)}
      />
    </td>
    <th scope="row">
      <Link data-row href={href(["runs", run.id])} className="name" title={run.id}>
        <bdi>{run.id}</bdi>
      </Link>
    </th>
    <td data-label="Status">
      <Status status={run.problem === undefined ? run.status : "failed"} />
    </td>
    {run.problem === undefined ? (
      <>
        <td data-label="Environment" className="what">
          {[run.env, run.algorithm].filter(Boolean).join(" · ")}
        </td>
        <td data-label="Held-out success" className="number">
          <HeldOut run={run} />
        </td>
        <td data-label="Training reward" className="number">
          <span className="with-spark">
            <Spark values={run.curve} /> {short(run.reward)}
          </span>
        </td>
        <td data-label="Steps" className="number">
          {whole(run.steps)}
          {run.plannedSteps === undefined ? "" : ` / ${whole(run.plannedSteps)}`}
        </td>
        <td data-label="Duration" className="number">
          <Took run={run} />
        </td>
        <td data-label="Findings" className="number">
          <FoundCounts found={found} />
        </td>
      </>
    ) : (
      <td colSpan={6} className="what broken">
        {run.problem}
      </td>
    )}
    <td data-label="Last change" className="when">
      <Ago time={run.changed} />
    </td>
  </tr>
);

const FoundCounts = ({ found }: { found: FindingCounts | undefined }) => {
  if (found === undefined) return <span className="quiet">…</span>;
  const { errors, warnings } = found;
  if (errors + warnings === 0) return <span className="quiet">none</span>;
  return (
    <>
      {errors > 0 && <span className="broken">{count(errors, "error")} </span>}
      {warnings > 0 && <span className="warning">{count(warnings, "warning")}</span>}
    </>
  );
};
