import { type FormEvent, useEffect, useRef, useState } from "react";
import { defined } from "../../../src/defined.ts";
import type { EnvironmentsAnswer, PlayAnswer } from "../../../src/server/dashboard/answers.ts";
import { type Problem, post, toProblem, useAnswer } from "../api.ts";
import { short, whole } from "../numbers.ts";
import { Empty, Panel, ProblemNote } from "../pieces.tsx";
import { queryNumber, setQuery, usePlace } from "../router.tsx";
import { RunPicker } from "../run-picker.tsx";
import { visible } from "../shown-text.tsx";
import { Suggestion } from "../suggestion.tsx";
import { useTitle } from "../title.ts";

/** Playing an environment by hand, with the policy's prompt and, optionally, samples of a checkpoint. */
export const PlayPage = () => {
  const { query } = usePlace();
  const [of, run] = [query.get("of") ?? "", query.get("run") ?? ""];
  const { answer: known, problem: listProblem } = useAnswer<EnvironmentsAnswer>(
    of === "" ? "/environments" : `/environments?run=${encodeURIComponent(of)}`,
  );
  const choice = chosenEnv(known, query.get("env"));
  const index = queryNumber(query, "index", 0);
  const [game, setGame] = useState<PlayAnswer>();
  const [problem, setProblem] = useState<Problem>();
  const [isBusy, setBusy] = useState(false);
  const tell = (path: string, body: unknown) => {
    setBusy(true);
    post<PlayAnswer>(path, body)
      .then((next) => {
        setGame(next);
        setProblem(undefined);
      })
      .catch((error: unknown) => setProblem(toProblem(error)))
      .finally(() => setBusy(false));
  };
  const start = () => {
    const env = choice === own ? { envOf: of } : { env: choice };
    tell("/play", { ...env, index, ...defined({ run: run || undefined }) });
  };
  useTitle(game === undefined ? undefined : game.env, "Play");
  return (
    <>
      <div className="head">
        <h1>Play</h1>
      </div>
      <div className="tools">
        <select aria-label="Environment" value={choice} onChange={(event) => setQuery({ env: event.target.value })}>
          {known?.own !== undefined && (
            <option value={own}>
              {known.own.name} – of the run {of}
            </option>
          )}
          {known?.environments.map(({ name, description }) => (
            <option key={name} value={name}>
              {name} – {description.slice(0, 60)}
            </option>
          ))}
        </select>
        <span className="zoom">
          task
          <input
            type="number"
            min="0"
            aria-label="Task number"
            value={index}
            onChange={(event) => setQuery({ index: event.target.value })}
          />
        </span>
        <RunPicker label="Add a run's checkpoint" onPick={(id) => setQuery({ run: id })} />
        {run !== "" && (
          <button type="button" className="chip" onClick={() => setQuery({ run: undefined })}>
            <bdi>{run}</bdi> ×
          </button>
        )}
        <button type="button" className="main" disabled={choice === "" || isBusy} onClick={start}>
          Start
        </button>
      </div>
      <ProblemNote problem={problem ?? listProblem} />
      {known?.problem !== undefined && !isListed(known, known.runEnv) && <p className="quiet">{known.problem}</p>}
      {known?.environments.length === 0 && known.own === undefined && (
        <Empty>This server has no environments to play.</Empty>
      )}
      {game !== undefined && (
        <Game
          game={game}
          isBusy={isBusy}
          onTell={(body) => tell(`/play/${game.session}/say`, body)}
          onProblem={setProblem}
        />
      )}
    </>
  );
};

/** The choice that is the run's own environment, which may share its name with a shipped one. */
const own = "own:";

/** What the address names, else the environment of the run, else the first. */
function chosenEnv(known: EnvironmentsAnswer | undefined, wanted: string | null): string {
  if (known === undefined) return wanted ?? "";
  if (known.own !== undefined && (wanted === null || wanted === own)) return own;
  if (isListed(known, wanted)) return wanted!;
  if (isListed(known, known.runEnv)) return known.runEnv!;
  return known.environments[0]?.name ?? "";
}

function isListed({ environments }: EnvironmentsAnswer, name: string | null | undefined): boolean {
  return environments.some((each) => each.name === name);
}

interface GameProps {
  readonly game: PlayAnswer;
  readonly isBusy: boolean;
  readonly onTell: (body: { text: string } | { tokens: readonly number[] }) => void;
  readonly onProblem: (problem: Problem) => void;
}

const Game = ({ game, isBusy, onTell, onProblem }: GameProps) => (
  <div className="two play">
    <Panel
      title={`${game.env} ${game.taskId}`}
      aside={<span className="quiet">reward so far {short(game.reward)}</span>}
    >
      <Talk game={game} />
      {game.end === undefined ? (
        <Answer key={game.messages.length} game={game} isBusy={isBusy} onTell={onTell} onProblem={onProblem} />
      ) : (
        <div className={`end ${game.end.score.success ? "good" : "bad"}`} role="status">
          <strong>{game.end.stop}</strong> reward {short(game.end.score.total)}{" "}
          {Object.entries(game.end.score.parts).map(([name, part]) => (
            <span key={name}>
              <i>{name}</i> {short(part)}{" "}
            </span>
          ))}
          {game.end.failure !== undefined && <div className="text">{visible(game.end.failure.slice(0, 2000))}</div>}
        </div>
      )}
    </Panel>
    <div>
      {game.checkpoint !== undefined && game.end === undefined && (
        <Suggestion key={game.messages.length} game={game} isBusy={isBusy} onTell={onTell} />
      )}
      <Panel title="What the policy sees" aside={<span className="quiet">{whole(game.promptTokens)} tokens</span>}>
        <div className="text prompt" dir="auto">
          {visible(game.prompt.slice(-20_000))}
        </div>
      </Panel>
      {game.tools.length > 0 && (
        <Panel title="Tools">
          <ul className="tool-list">
            {game.tools.map(({ name, description, parameters }) => (
              <li key={name}>
                <b>{name}</b> {description}
                <code>{JSON.stringify(parameters.properties ?? {}).slice(0, 400)}</code>
              </li>
            ))}
          </ul>
        </Panel>
      )}
    </div>
  </div>
);

const Talk = ({ game }: { game: PlayAnswer }) => {
  const foot = useRef<HTMLDivElement>(null);
  const count = game.messages.length;
  // biome-ignore lint/correctness/useExhaustiveDependencies: scrolls to the newest message
  useEffect(() => {
    // a block body: newer browsers return a promise, which React would take for a cleanup function
    foot.current?.scrollTo(0, foot.current.scrollHeight);
  }, [count]);
  return (
    <div ref={foot} className="talk">
      {game.messages.map((message, i) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: messages are never reordered
        <div key={i} className={`message ${message.role}`}>
          <i>{message.role === "assistant" ? "you" : message.role}</i>
          <div className="text" dir="auto">
            {visible(message.content)}
          </div>
        </div>
      ))}
    </div>
  );
};

const Answer = ({ game, isBusy, onTell, onProblem }: GameProps) => {
  const [text, setText] = useState("");
  const field = useRef<HTMLTextAreaElement>(null);
  useEffect(() => {
    field.current?.focus({ preventScroll: true });
  }, []);
  const send = (event: FormEvent) => {
    event.preventDefault();
    onTell({ text });
  };
  const askExpert = () => {
    post<{ text: string | null }>(`/play/${game.session}/expert`, {})
      .then((said) => setText(said.text ?? ""))
      .catch((error: unknown) => onProblem(toProblem(error)));
  };
  return (
    <form className="answer" onSubmit={send}>
      <div className="possible">
        {game.possible.map((each) => (
          <button key={each} type="button" className="chip" disabled={isBusy} onClick={() => onTell({ text: each })}>
            {visible(each.slice(0, 60))}
          </button>
        ))}
      </div>
      <textarea
        ref={field}
        rows={2}
        aria-label={`Message as ${game.role}`}
        placeholder={`Message as ${game.role}. Enter sends, Shift+Enter inserts a new line.`}
        value={text}
        onChange={(event) => setText(event.target.value)}
        onKeyDown={(event) => event.key === "Enter" && !event.shiftKey && send(event)}
      />
      <div className="tools">
        <button type="submit" className="main" disabled={isBusy}>
          Send
        </button>
        {game.hasExpert && (
          <button type="button" onClick={askExpert}>
            Suggest expert message
          </button>
        )}
      </div>
    </form>
  );
};
