import { type ReactNode, useEffect, useRef } from "react";
import type { LongText, ShownCall, ShownTurn, TrajectoryAnswer } from "../../src/server/dashboard/answers.ts";
import { CopyButton } from "./copy.tsx";
import { isRepeated, observationsOf, textOf, turnText } from "./episode-text.ts";
import { count, short } from "./numbers.ts";
import { href, setQuery, usePlace } from "./router.tsx";
import { ShownText, visible } from "./shown-text.tsx";
import { Tokens, type TokenView } from "./tokens.tsx";

const maxTurns = 200;
/** Longer observations are folded. */
const longText = 3000;

/** Sampled tokens in order, with what is new in each turn: its calls, their answers, and context that says something else. */
export const Turns = ({ answer, view }: { answer: TrajectoryAnswer; view: TokenView }) => {
  const { turns, tokens } = answer;
  const seen = new Map<string, number>();
  return (
    <div className="turns">
      {turns.slice(0, maxTurns).map((turn, i) => {
        const sameAs = observationsOf(turn).map((text) => (text.length > 0 ? seen.get(text) : undefined));
        for (const text of observationsOf(turn)) if (!seen.has(text)) seen.set(text, i + 1);
        const key = `${turn.start} ${i}`;
        return <TurnBlock key={key} view={view} turn={turn} number={i + 1} before={turns[i - 1]} sameAs={sameAs} />;
      })}
      {turns.length === 0 && (
        <section className="turn">
          <Tokens view={view} start={0} end={tokens.total} />
        </section>
      )}
      {turns.length > maxTurns && <p className="empty">{turns.length - maxTurns} more turns are not shown.</p>}
    </div>
  );
};

interface BlockProps {
  readonly view: TokenView;
  readonly turn: ShownTurn;
  readonly number: number;
  readonly before: ShownTurn | undefined;
  /** For each observation: the earlier turn that was told the same. */
  readonly sameAs: readonly (number | undefined)[];
}

const TurnBlock = ({ view, turn, number, before, sameAs }: BlockProps) => {
  const { tokens } = view;
  const readFrom = before?.end ?? 0;
  const isLoaded = turn.end > tokens.from && readFrom < tokens.from + tokens.ids.length;
  const { query } = usePlace();
  const isLinked = query.get("turn") === String(number);
  const place = useRef<HTMLElement>(null);
  useEffect(() => {
    if (isLinked) place.current?.scrollIntoView({ block: "start" });
  }, [isLinked]);
  return (
    <section
      ref={place}
      className={`turn${isLinked ? " linked" : ""}`}
      data-row
      tabIndex={-1}
      aria-label={`Turn ${number}`}
    >
      <TurnHead turn={turn} number={number} />
      {isLoaded && readFrom < turn.start && (
        <Context view={view} start={readFrom} end={turn.start} before={before} number={number} />
      )}
      <div className="spoken">
        <h4>sampled</h4>
        {isLoaded && <Tokens view={view} start={turn.start} end={turn.end} />}
        {!(isLoaded && tokens.texts !== undefined) && <ShownText text={turn.text} />}
      </div>
      {turn.calls.map((call, i) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: calls are never reordered
        <CallBlock key={i} call={call} sameAs={sameAs[i]} />
      ))}
      {turn.calls.length === 0 && turn.observation.length > 0 && (
        <div className="observed">
          <Observation title="observation" text={turn.observation} sameAs={sameAs[0]} />
        </div>
      )}
      {turn.info !== undefined && (
        <p className="facts">
          {factsOf(turn.info).map(([name, value]) => (
            <span key={name}>
              <i>{name}</i> {visible(String(value).slice(0, 200))}
            </span>
          ))}
        </p>
      )}
    </section>
  );
};

/** Without what the film and the changes of code show. */
function factsOf(info: NonNullable<ShownTurn["info"]>) {
  return Object.entries(info).filter(([name]) => !["screenshot", "box", "changes", "diff", "tests"].includes(name));
}

const TurnHead = ({ turn, number }: { turn: ShownTurn; number: number }) => (
  <h3>
    <button type="button" className="anchor" title="Link to this turn" onClick={() => setQuery({ turn: number })}>
      Turn {number}
    </button>
    {turn.reward !== 0 && <span className="reward">{short(turn.reward)}</span>}
    {turn.stateKey !== undefined && <bdi className="quiet">{turn.stateKey.slice(0, 80)}</bdi>}
    <span className="turn-tools">
      <span className="quiet">copy</span>
      <CopyButton label="Text" text={() => turnText(turn, number)} what={`copy turn ${number}`} />
      <CopyButton label="JSON" text={() => JSON.stringify(turn, null, 2)} what={`copy turn ${number}`} />
      <CopyButton label="Link" text={() => turnAddress(number)} what={`copy the address of turn ${number}`} />
    </span>
  </h3>
);

function turnAddress(number: number): string {
  const path = location.pathname.split("/").filter((part) => part !== "");
  return `${location.origin}${href(path.map(decodeURIComponent), { turn: number })}`;
}

interface ContextProps {
  readonly view: TokenView;
  readonly start: number;
  readonly end: number;
  readonly before: ShownTurn | undefined;
  readonly number: number;
}

/** The tokens before a turn. Where they repeat what the turn before was told, they are folded. */
const Context = ({ view, start, end, before, number }: ContextProps) => {
  const text = textOf(view.tokens, start, end);
  const isFolded =
    before !== undefined && (text === undefined ? before.observation.length > 0 : isRepeated(text, before));
  return (
    <Folded
      className="read"
      isOpen={!isFolded}
      title={isFolded ? `context: the observation of turn ${number - 1}, ${count(end - start, "token")}` : "context"}
    >
      <Tokens view={view} start={start} end={end} />
    </Folded>
  );
};

interface FoldedProps {
  readonly title: string;
  readonly isOpen: boolean;
  readonly className?: string;
  readonly children: ReactNode;
}

const Folded = ({ title, isOpen, className = "", children }: FoldedProps) => (
  <details className={className} open={isOpen}>
    <summary>{title}</summary>
    {children}
  </details>
);

interface ObservationProps {
  readonly title: string;
  readonly text: LongText;
  readonly sameAs: number | undefined;
}

const Observation = ({ title, text, sameAs }: ObservationProps) => {
  const isLong = text.length > longText;
  const same = sameAs === undefined ? "" : `, the same as in turn ${sameAs}`;
  const length = isLong ? `, ${count(text.length, "character")}` : "";
  return (
    <Folded title={`${title}${same}${length}`} isOpen={sameAs === undefined && !isLong}>
      <ShownText text={text} />
    </Folded>
  );
};

const CallBlock = ({ call, sameAs }: { call: ShownCall; sameAs: number | undefined }) => (
  <div className={`call ${call.outcome === "ok" ? "" : "broken"}`}>
    <h4>
      tool call <bdi>{call.name.slice(0, 80)}</bdi> <span className="outcome">{call.outcome}</span>
    </h4>
    <ShownText text={call.arguments} className="arguments" />
    {call.observation.length > 0 && <Observation title="result" text={call.observation} sameAs={sameAs} />}
  </div>
);
