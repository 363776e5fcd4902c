import { useRef } from "react";
import type { ShownFinding } from "../../src/server/dashboard/answers.ts";
import { whole } from "./numbers.ts";
import { setQuery } from "./router.tsx";

const most = 100;
const around = 10;

interface FindingListProps {
  readonly findings: readonly ShownFinding[];
  readonly isKnown: boolean;
  /** Attempts failed through no fault of the policy, which is said elsewhere. */
  readonly hasFailures: boolean;
}

/** What the doctor found; each can be shown in the charts where it began. */
export const FindingList = ({ findings, isKnown, hasFailures }: FindingListProps) => {
  // those of a run that goes on come folded: what is read must not jump
  const first = useRef<number>(undefined);
  if (isKnown) first.current ??= findings.length;
  if (!isKnown) return <div className="findings quiet">Running the doctor …</div>;
  if (findings.length === 0) {
    return <div className="findings quiet">The doctor found no {hasFailures ? "other " : ""}problems.</div>;
  }
  return (
    <details className="findings" open={first.current !== 0 && findings.length <= 4}>
      <summary>
        {findings.length} {findings.length === 1 ? "finding" : "findings"}
      </summary>
      <ul>
        {findings.slice(0, most).map((finding) => (
          <li key={`${finding.code} ${finding.since} ${finding.message}`} className={finding.severity}>
            <b>{finding.code}</b>{" "}
            <button
              type="button"
              className="link"
              title="Show in the charts where it began"
              onClick={() =>
                setQuery({
                  from: Math.max(0, finding.since - around),
                  to: Math.max(finding.step, finding.since + around),
                })
              }
            >
              {stepsText(finding)}
            </button>{" "}
            {finding.message} {finding.remedy && <em>{finding.remedy}</em>}
          </li>
        ))}
      </ul>
    </details>
  );
};

function stepsText({ since, step }: ShownFinding): string {
  return since === step ? `step ${whole(step)}` : `steps ${whole(since)}–${whole(step)}`;
}
