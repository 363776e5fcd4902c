import { type ReactNode, useEffect, useRef } from "react";
import type { RunStatus, RunSummary } from "../../src/server/dashboard/answers.ts";
import type { Problem } from "./api.ts";
import { ago, duration, percent, percentRange, points } from "./numbers.ts";

export const ProblemNote = ({ problem }: { problem: Problem | undefined }) =>
  problem === undefined ? null : (
    <div className="problem" role="alert">
      <strong>{problem.status === 401 ? "No token" : problem.code}</strong> {problem.message}
    </div>
  );

const statusTexts: Partial<Record<RunStatus, string>> = {
  silent: "no sign of life",
  doctor: "stopped by the doctor",
  "early-stop": "early stop",
  "time-budget": "time budget",
  "token-budget": "token budget",
};

export const Status = ({ status }: { status: RunStatus }) => {
  const kind =
    status === "running"
      ? "running"
      : status === "failed" || status === "doctor"
        ? "bad"
        : status === "silent"
          ? "warn"
          : "over";
  return <span className={`status ${kind}`}>{statusTexts[status] ?? status}</span>;
};

/** A curve in the height of a line. */
export const Spark = ({ values }: { values: readonly (number | null)[] }) => {
  const numbers = values.filter((value) => value !== null);
  const [low, high] = [Math.min(...numbers), Math.max(...numbers)];
  const points = values.flatMap((value, i) => {
    if (value === null) return [];
    const x = values.length === 1 ? 50 : (100 * i) / (values.length - 1);
    return [`${x.toFixed(1)},${(22 - (20 * (value - low)) / (high - low || 1)).toFixed(1)}`];
  });
  return (
    <svg className="spark" viewBox="0 0 100 24" preserveAspectRatio="none" aria-hidden="true">
      <polyline points={points.join(" ")} />
    </svg>
  );
};

export const Panel = ({ title, children, aside }: { title: string; children: ReactNode; aside?: ReactNode }) => (
  <section className="panel">
    <h2>
      {title}
      {aside}
    </h2>
    {children}
  </section>
);

export const Empty = ({ children }: { children: ReactNode }) => <p className="empty">{children}</p>;

/** A text about a time that goes on, written anew every second without rendering the page. */
const Ticking = ({ text, time }: { text: () => string; time: number }) => {
  const place = useRef<HTMLTimeElement>(null);
  const latest = useRef(text);
  latest.current = text;
  useEffect(() => {
    const timer = setInterval(() => {
      if (place.current !== null) place.current.textContent = latest.current();
    }, 1000);
    return () => clearInterval(timer);
  }, []);
  return (
    <time ref={place} dateTime={new Date(time).toISOString()} title={new Date(time).toLocaleString("en")}>
      {text()}
    </time>
  );
};

export const Ago = ({ time }: { time: number }) => <Ticking time={time} text={() => ago(time)} />;

/** How long a run took, or has been going on. */
export const Took = ({ run }: { run: Pick<RunSummary, "started" | "changed" | "status"> }) => {
  const { started, changed, status } = run;
  if (started === undefined) return <>–</>;
  if (status === "running") return <Ticking time={started} text={() => duration(Date.now() - started)} />;
  return <>{duration(changed - started)}</>;
};

/** Success on held-out tasks: the last, its interval, and what has changed since the first. */
export const HeldOut = ({ run: { heldOut } }: { run: Pick<RunSummary, "heldOut"> }) => {
  if (heldOut === undefined) return <span className="quiet">–</span>;
  const { first, last } = heldOut;
  const change = first.step === last.step ? undefined : changeOf(first.success.mean, last.success.mean);
  return (
    <>
      <b>{percent(last.success.mean)}</b> <small>{percentRange(last.success)}</small>
      {change !== undefined && (
        <small className={trendOf(change)} title="Percentage points since the first evaluation">
          {" "}
          {points(change)}
        </small>
      )}
    </>
  );
};

/** The class of a change's colour: none where it rounds to nothing. */
export function trendOf(change: number): string {
  return Math.abs(change) < 0.005 ? "" : change < 0 ? "fall" : "rise";
}

export function changeOf(first: number | null, last: number | null): number | undefined {
  return first === null || last === null ? undefined : last - first;
}
