import { useState } from "react";
import type { RunSummary, RunsAnswer } from "../../../src/server/dashboard/answers.ts";
import { useAnswer } from "../api.ts";
import { useLive } from "../live.ts";
import { ago, count, percent, short, whole } from "../numbers.ts";
import { Empty, ProblemNote, Spark, Status } from "../pieces.tsx";
import { go, href, Link, queryNumber, setQuery, usePlace } from "../router.tsx";

const pageSize = 25;

export const RunsPage = () => {
  const { query } = usePlace();
  const version = useLive([]);
  const search = query.get("search") ?? "";
  const skip = queryNumber(query, "skip", 0);
  const [chosen, setChosen] = useState<readonly string[]>([]);
  const asked = new URLSearchParams({ search, skip: String(skip), limit: String(pageSize) });
  const { answer, problem } = useAnswer<RunsAnswer>(`/runs?${asked}`, version);
  const choose = (id: string, isChosen: boolean) =>
    setChosen((before) => (isChosen ? [...before, id] : before.filter((other) => other !== id)));
  return (
    <>
      <div className="tools">
        <input
          data-search
          type="search"
          placeholder="Find runs by name"
          aria-label="Find runs by name"
          value={search}
          onChange={(event) => setQuery({ search: event.target.value, skip: undefined })}
        />
        <span className="quiet">{answer === undefined ? "" : `${count(answer.total, "run")}, newest first`}</span>
        <button type="button" disabled={chosen.length < 2} onClick={() => go(href(["compare"], { run: chosen }))}>
          Compare {chosen.length > 0 ? chosen.length : ""}
        </button>
      </div>
      <ProblemNote problem={problem} />
      <ul className="table runs">
        {answer?.runs.map((run) => (
          <RunRow key={run.id} run={run} isChosen={chosen.includes(run.id)} onChoose={(is) => choose(run.id, is)} />
        ))}
      </ul>
      {answer?.total === 0 && (
        <Empty>
          {search === "" ? "No runs yet. They appear here once training starts." : "No run matches this search."}
        </Empty>
      )}
      <Pager skip={skip} total={answer?.total ?? 0} />
    </>
  );
};

const Pager = ({ skip, total }: { skip: number; total: number }) =>
  total <= pageSize ? null : (
    <div className="tools">
      <button
        type="button"
        disabled={skip === 0}
        onClick={() => setQuery({ skip: Math.max(0, skip - pageSize) || undefined })}
      >
        Newer
      </button>
      <span className="quiet">
        {whole(skip + 1)}–{whole(Math.min(total, skip + pageSize))}
      </span>
      <button type="button" disabled={skip + pageSize >= total} onClick={() => setQuery({ skip: skip + pageSize })}>
        Older
      </button>
    </div>
  );

interface RowProps {
  readonly run: RunSummary;
  readonly isChosen: boolean;
  readonly onChoose: (isChosen: boolean) => void;
}

const RunRow = ({ run, isChosen, onChoose }: RowProps) => (
  <li className="row">
    <input
      type="checkbox"
      aria-label={`Select ${run.id} for comparison`}
      checked={isChosen}
      onChange={(event) => onChoose(event.target.checked)}
    />
    <Link data-row href={href(["runs", run.id])} className="name">
      <bdi>{run.id}</bdi>
    </Link>
    <Status status={run.problem === undefined ? run.status : "failed"} />
    {run.problem === undefined ? (
      <>
        <span className="what">{[run.env, run.algorithm].filter(Boolean).join(" · ")}</span>
        <Spark values={run.curve} />
        <span className="number">
          <i>reward</i> {short(run.reward)}
        </span>
        <span className="number">
          <i>success</i> {percent(run.success)}
        </span>
        <span className="number">
          <i>step</i> {whole(run.steps)}
          {run.plannedSteps === undefined ? "" : ` / ${whole(run.plannedSteps)}`}
        </span>
      </>
    ) : (
      <span className="what broken">{run.problem}</span>
    )}
    <span className="when">{ago(run.changed)}</span>
  </li>
);
