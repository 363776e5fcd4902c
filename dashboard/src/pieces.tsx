import type { ReactNode } from "react";
import type { RunStatus } from "../../src/server/dashboard/answers.ts";
import type { Problem } from "./api.ts";

export const ProblemNote = ({ problem }: { problem: Problem | undefined }) =>
  problem === undefined ? null : (
    <div className="problem" role="alert">
      <strong>{problem.status === 401 ? "No token" : problem.code}</strong> {problem.message}
    </div>
  );

export const Status = ({ status }: { status: RunStatus }) => {
  const kind = status === "running" ? "running" : status === "failed" || status === "doctor" ? "bad" : "over";
  return <span className={`status ${kind}`}>{status}</span>;
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
