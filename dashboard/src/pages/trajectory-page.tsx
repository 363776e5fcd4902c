import { useEffect, useState } from "react";
import type { GroupAnswer, LookAnswer, ShownSummary, TrajectoryAnswer } from "../../../src/server/dashboard/answers.ts";
import { get, type Problem, post, toProblem, useAnswer } from "../api.ts";
import { CodeChanges } from "../code-changes.tsx";
import { CopyButton } from "../copy.tsx";
import { episodeText } from "../episode-text.ts";
import { Film } from "../film.tsx";
import { count, short, whole } from "../numbers.ts";
import { ProblemNote } from "../pieces.tsx";
import { href, Link, setQuery, usePlace } from "../router.tsx";
import { ShownText } from "../shown-text.tsx";
import { useTitle } from "../title.ts";
import { type Colouring, ColourKey, colourings, TokenNote, type TokenView } from "../tokens.tsx";
import { Turns } from "../turns.tsx";

interface PageProps {
  readonly run: string;
  readonly trajectory: string;
}

/** One trajectory, token by token, with links to the rest of its group. */
export const TrajectoryPage = ({ run, trajectory }: PageProps) => {
  const { query } = usePlace();
  const base = `/runs/${encodeURIComponent(run)}`;
  const more = new URLSearchParams({
    ...(query.get("full") && { full: "true" }),
    ...(query.get("first") && { first: query.get("first")! }),
  });
  const { answer, problem } = useAnswer<TrajectoryAnswer>(
    `${base}/trajectories/${encodeURIComponent(trajectory)}?${more}`,
  );
  const groupPath = answer === undefined ? undefined : `${base}/groups/${answer.summary.group}`;
  const { answer: group } = useAnswer<GroupAnswer>(groupPath);
  const colouring = colouringOf(query.get("colour"));
  const { look, lookProblem } = useLook(`${base}/trajectories/${encodeURIComponent(trajectory)}/look`, colouring);
  const isWide = query.get("group") === "true";
  useTitle(answer?.summary.taskId, run);
  if (answer === undefined) return <ProblemNote problem={problem} />;
  const whole = () =>
    get<TrajectoryAnswer>(`${base}/trajectories/${encodeURIComponent(trajectory)}?full=true&tokens=50000`);
  const view: TokenView = { tokens: answer.tokens, colouring, look, relativeReward: relativeReward(answer, group) };
  return (
    <>
      <TrajectoryHead run={run} answer={answer} />
      <ProblemNote problem={problem ?? lookProblem} />
      <div className="tools">
        <label>
          Colour by
          <select value={colouring} onChange={(event) => setQuery({ colour: event.target.value })}>
            {Object.entries(colourings).map(([name, label]) => (
              <option key={name} value={name}>
                {label}
              </option>
            ))}
          </select>
        </label>
        <label>
          <input
            type="checkbox"
            checked={isWide}
            onChange={(event) => setQuery({ group: event.target.checked ? "true" : undefined })}
          />
          Group side by side
        </label>
        <ColourKey colouring={colouring} />
        <CopyButton label="Copy text" text={() => whole().then(episodeText)} what="the episode" />
        <CopyButton
          label="Copy JSON"
          text={() => whole().then((all) => JSON.stringify(all, null, 2))}
          what="the episode"
        />
        <TokenPages answer={answer} />
      </div>
      {colouring === "advantage" && answer.tokens.advantages === undefined && (
        <p className="quiet">This trajectory was not trained on, so it has no advantages.</p>
      )}
      {group !== undefined && <Members run={run} group={group} current={answer.summary.key} />}
      {isWide && group !== undefined ? (
        <SideBySide base={base} group={group} colouring={colouring} />
      ) : (
        <>
          <Film turns={answer.turns} />
          <CodeChanges turns={answer.turns} />
          <Turns answer={answer} view={view} />
        </>
      )}
      <TokenNote />
    </>
  );
};

function colouringOf(name: string | null): Colouring {
  return name !== null && Object.hasOwn(colourings, name) ? (name as Colouring) : "probability";
}

/** Log-probabilities and entropies under the last checkpoint, requested once a colouring needs them. */
function useLook(path: string, colouring: Colouring) {
  const [state, setState] = useState<{ path?: string; look?: LookAnswer; problem?: Problem }>({});
  const isWanted = colouring === "entropy" || colouring === "drift";
  const isOwn = state.path === path;
  useEffect(() => {
    if (!isWanted || isOwn) return;
    let isLeft = false;
    post<LookAnswer>(path, {})
      .then((look) => isLeft || setState({ path, look }))
      .catch((error: unknown) => isLeft || setState({ path, problem: toProblem(error) }));
    return () => {
      isLeft = true;
    };
  }, [path, isWanted, isOwn]);
  return { look: isOwn ? state.look : undefined, lookProblem: isOwn ? state.problem : undefined };
}

function relativeReward({ summary }: { summary: ShownSummary }, group: GroupAnswer | undefined): number {
  const mean = group?.meanReward ?? null;
  if (group === undefined || mean === null) return 0;
  const largest = Math.max(...group.members.map(({ reward }) => Math.abs((reward ?? mean) - mean)));
  return largest === 0 ? 0 : ((summary.reward ?? mean) - mean) / largest;
}

const TrajectoryHead = ({ run, answer }: { run: string; answer: TrajectoryAnswer }) => {
  const { summary, score, task, failure, temperature, hint } = answer;
  return (
    <div className="head">
      <h1>
        <Link href={href(["runs", run])}>
          <bdi>{run}</bdi>
        </Link>{" "}
        <Link
          className="crumb"
          href={href(
            ["runs", run, "trajectories"],
            summary.split === "train" ? {} : { split: summary.split, order: "worst" },
          )}
        >
          trajectories
        </Link>{" "}
        <bdi>{summary.taskId}</bdi>
      </h1>
      <p className="facts">
        <span className={`dot ${summary.success ? "good" : "bad"}`} />
        <span>
          <i>reward</i> {short(summary.reward)}
        </span>
        {Object.entries(score.parts).map(([name, part]) => (
          <span key={name}>
            <i>{name}</i> {short(part)}
          </span>
        ))}
        {summary.split !== "train" && <span className="status over">{summary.split}</span>}
        <span>
          <i>step</i> {summary.step}
        </span>
        <span>{summary.stop}</span>
        <span>
          {count(summary.turns, "turn")}, {count(summary.tokens, "token")}
        </span>
        <span>
          <i>temperature</i> {short(temperature)}
        </span>
      </p>
      <details className="task">
        <summary>Task</summary>
        <ShownText text={task.data} />
      </details>
      {hint !== undefined && (
        <details className="task">
          <summary>Hint, {hint.kind}</summary>
          <ShownText text={hint.text} />
        </details>
      )}
      {failure !== undefined && <ShownText text={failure} className="failure" />}
    </div>
  );
};

/** Long trajectories are loaded in pages of tokens. */
const TokenPages = ({ answer: { tokens } }: { answer: TrajectoryAnswer }) => {
  const end = tokens.from + tokens.ids.length;
  if (tokens.from === 0 && end >= tokens.total) return null;
  return (
    <span className="zoom">
      tokens {whole(tokens.from)}–{whole(end)} of {whole(tokens.total)}
      <button
        type="button"
        disabled={tokens.from === 0}
        onClick={() => setQuery({ first: Math.max(0, tokens.from - 6000) || undefined })}
      >
        Previous
      </button>
      <button type="button" disabled={end >= tokens.total} onClick={() => setQuery({ first: end })}>
        Next
      </button>
    </span>
  );
};

const Members = ({ run, group, current }: { run: string; group: GroupAnswer; current: number }) => {
  const at = group.members.findIndex(({ key }) => key === current);
  const to = (key: number) => `${href(["runs", run, "trajectories", key])}${location.search}`;
  const neighbour = (by: number, name: string, label: string) => {
    const member = group.members[at + by];
    return member === undefined ? null : (
      <Link data-member={name} href={to(member.key)} aria-label={`${name} of the group`}>
        {label}
      </Link>
    );
  };
  return (
    <nav className="members" aria-label="Group">
      <span className="quiet">Group, mean {short(group.meanReward)}</span>
      {neighbour(-1, "previous", "‹")}
      {group.members.slice(0, 64).map((member) => (
        <Link
          key={member.key}
          href={to(member.key)}
          className={`member ${member.success ? "good" : "bad"}`}
          aria-current={member.key === current ? "true" : undefined}
        >
          {short(member.reward)}
        </Link>
      ))}
      {neighbour(1, "next", "›")}
    </nav>
  );
};

const SideBySide = ({ base, group, colouring }: { base: string; group: GroupAnswer; colouring: Colouring }) => (
  <div className="side-by-side">
    {group.members.slice(0, 16).map((member) => (
      <MemberColumn key={member.key} path={`${base}/trajectories/${member.key}`} group={group} colouring={colouring} />
    ))}
  </div>
);

const MemberColumn = ({ path, group, colouring }: { path: string; group: GroupAnswer; colouring: Colouring }) => {
  const { answer } = useAnswer<TrajectoryAnswer>(`${path}?tokens=2000`);
  const { look } = useLook(`${path}/look`, colouring);
  if (answer === undefined) return <div className="column" />;
  const view = { tokens: answer.tokens, colouring, look, relativeReward: relativeReward(answer, group) };
  return (
    <div className="column">
      <p className="facts">
        <span className={`dot ${answer.summary.success ? "good" : "bad"}`} />
        <span>
          <i>reward</i> {short(answer.summary.reward)}
        </span>
        <span>{answer.summary.stop}</span>
      </p>
      <Turns answer={answer} view={view} />
    </div>
  );
};
