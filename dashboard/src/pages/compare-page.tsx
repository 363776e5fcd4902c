import { useMemo } from "react";
import type { RunAnswer, Series, SeriesAnswer } from "../../../src/server/dashboard/answers.ts";
import { mean } from "../../../src/statistics.ts";
import { useAnswer } from "../api.ts";
import { Curves } from "../curves.tsx";
import { useLive } from "../live.ts";
import { short } from "../numbers.ts";
import { Empty, Panel, ProblemNote } from "../pieces.tsx";
import { href, Link, setQuery, usePlace } from "../router.tsx";
import { RunPicker } from "../run-picker.tsx";
import { useTitle } from "../title.ts";

const maxRuns = 8;

/** Several runs: differences of their configurations, last metrics, and curves in shared charts. */
export const ComparePage = () => {
  const { query } = usePlace();
  const ids = [...new Set(query.getAll("run"))].filter((id) => id !== "");
  const shownIds = ids.slice(0, maxRuns).join("\n");
  const runs = useMemo(() => (shownIds === "" ? [] : shownIds.split("\n")), [shownIds]);
  const version = useLive(runs);
  useTitle("Compare", ...runs.slice(0, 2));
  return (
    <>
      <div className="head">
        <h1>Compare</h1>
      </div>
      <div className="tools overlay">
        <RunPicker label="Add a run" onPick={(id) => setQuery({ run: [...new Set([...runs, id])] })} />
        {runs.map((id, i) => (
          <span key={id} className={`chip key c${i}`}>
            <i />
            <Link href={href(["runs", id])}>
              <bdi>{id}</bdi>
            </Link>
            <button
              type="button"
              aria-label={`Remove ${id}`}
              onClick={() => setQuery({ run: runs.filter((other) => other !== id) })}
            >
              ×
            </button>
          </span>
        ))}
      </div>
      {runs.length < 2 && <Empty>Select at least two runs.</Empty>}
      {ids.length > maxRuns && (
        <Empty>
          Showing the first {maxRuns} of {ids.length} runs.
        </Empty>
      )}
      {runs.length > 0 && <Compared runs={runs} version={version} />}
    </>
  );
};

const Compared = ({ runs, version }: { runs: readonly string[]; version: number }) => {
  const [first, second] = runs;
  const a = useAnswer<RunAnswer>(`/runs/${encodeURIComponent(first)}`, version);
  const b = useAnswer<RunAnswer>(second === undefined ? undefined : `/runs/${encodeURIComponent(second)}`, version);
  const names = [...new Set([...(a.answer?.metricNames ?? []), ...(b.answer?.metricNames ?? [])])].join("\n");
  const metricNames = useMemo(() => (names === "" ? [] : names.split("\n")), [names]);
  return (
    <>
      <ProblemNote problem={a.problem ?? b.problem} />
      {second !== undefined && a.answer !== undefined && b.answer !== undefined && (
        <div className="two">
          <ConfigDifferences a={a.answer} b={b.answer} />
          <LastValues a={first} b={second} metricNames={metricNames} version={version} />
        </div>
      )}
      <Curves runs={runs} metricNames={metricNames} findings={[]} version={version} />
    </>
  );
};

const ConfigDifferences = ({ a, b }: { a: RunAnswer; b: RunAnswer }) => {
  const [left, right] = [flat(a.config), flat(b.config)];
  const keys = [...new Set([...left.keys(), ...right.keys()])].filter((key) => left.get(key) !== right.get(key)).sort();
  return (
    <Panel title="Configuration differences">
      {keys.length === 0 ? (
        <Empty>The configurations are identical.</Empty>
      ) : (
        <table>
          <RunHeads a={a.summary.id} b={b.summary.id} />
          <tbody>
            {keys.slice(0, 100).map((key) => (
              <tr key={key}>
                <th>{key}</th>
                <td>{left.get(key) ?? "–"}</td>
                <td>{right.get(key) ?? "–"}</td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
    </Panel>
  );
};

const RunHeads = ({ a, b }: { a: string; b: string }) => (
  <thead>
    <tr>
      <td />
      {[a, b].map((run, i) => (
        <th key={run} scope="col">
          <span className={`key c${i}`}>
            <i /> <bdi>{run}</bdi>
          </span>
        </th>
      ))}
    </tr>
  </thead>
);

function flat(value: unknown, path = "", found = new Map<string, string>()): Map<string, string> {
  if (typeof value !== "object" || value === null) return found.set(path, JSON.stringify(value) ?? "undefined");
  for (const [key, part] of Object.entries(value)) flat(part, path === "" ? key : `${path}.${key}`, found);
  return found;
}

interface LastProps {
  readonly a: string;
  readonly b: string;
  readonly metricNames: readonly string[];
  readonly version: number;
}

const lastMetrics =
  /^(rollout\/(reward|success|turns|tokens)|eval\/|policy\/entropy|kl\/|update\/gradient-norm|speed\/)/;

const LastValues = ({ a, b, metricNames, version }: LastProps) => {
  const names = metricNames.filter((name) => lastMetrics.test(name)).slice(0, 20);
  const query = new URLSearchParams({ points: "20" });
  for (const run of [a, b]) query.append("run", run);
  for (const name of names) query.append("name", name);
  const { answer } = useAnswer<SeriesAnswer>(names.length === 0 ? undefined : `/series?${query}`, version);
  const of = (run: string, name: string) =>
    lastMean(answer?.series.find((each) => each.run === run && each.name === name));
  return (
    <Panel title="Mean over the last 10% of each run">
      <table>
        <RunHeads a={a} b={b} />
        <tbody>
          {names.map((name) => {
            const [left, right] = [of(a, name), of(b, name)];
            const difference = left === undefined || right === undefined ? undefined : right - left;
            return (
              <tr key={name}>
                <th>{name}</th>
                <td>{short(left)}</td>
                <td>{short(right)}</td>
                <td className="quiet">
                  {difference === undefined ? "" : `${difference > 0 ? "+" : ""}${short(difference)}`}
                </td>
              </tr>
            );
          })}
        </tbody>
      </table>
    </Panel>
  );
};

function lastMean(series: Series | undefined): number | undefined {
  const values = (series?.values ?? []).filter((value) => value !== null);
  const last = values.slice(-Math.max(1, Math.round(values.length / 10)));
  return last.length === 0 ? undefined : mean(last);
}
