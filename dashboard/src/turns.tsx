import { useEffect, useRef } from "react";
import type { ShownCall, ShownTurn, TrajectoryAnswer } from "../../src/server/dashboard/answers.ts";
import { short } from "./numbers.ts";
import { setQuery, usePlace } from "./router.tsx";
import { ShownText, visible } from "./shown-text.tsx";
import { Tokens, type TokenView } from "./tokens.tsx";

const maxTurns = 200;

/** Context and sampled tokens in order, with the tool calls and observations of each turn. */
export const Turns = ({ answer, view }: { answer: TrajectoryAnswer; view: TokenView }) => {
  const { turns, tokens } = answer;
  return (
    <div className="turns">
      {turns.slice(0, maxTurns).map((turn, i) => (
        <TurnBlock
          key={turn.start}
          view={view}
          turn={turn}
          number={i + 1}
          readFrom={turns[i - 1]?.end ?? 0}
          isLast={i === turns.length - 1}
        />
      ))}
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
  readonly readFrom: number;
  /** The observation of any other turn is part of the next turn's context. */
  readonly isLast: boolean;
}

const TurnBlock = ({ view, turn, number, readFrom, isLast }: BlockProps) => {
  const { tokens } = view;
  const hasTexts = tokens.texts !== undefined;
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
      <h3>
        <button type="button" className="anchor" title="Link to this turn" onClick={() => setQuery({ turn: number })}>
          Turn {number}
        </button>
        {turn.reward !== 0 && <span className="reward">{short(turn.reward)}</span>}
        {turn.stateKey !== undefined && <bdi className="quiet">{turn.stateKey.slice(0, 80)}</bdi>}
      </h3>
      {isLoaded && readFrom < turn.start && (
        <div className="read">
          <h4>context</h4>
          <Tokens view={view} start={readFrom} end={turn.start} />
        </div>
      )}
      <div className="spoken">
        <h4>sampled</h4>
        {isLoaded && <Tokens view={view} start={turn.start} end={turn.end} />}
        {!(isLoaded && hasTexts) && <ShownText text={turn.text} />}
      </div>
      {turn.calls.map((call, i) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: calls are never reordered
        <CallBlock key={i} call={call} />
      ))}
      {turn.calls.length === 0 && turn.observation.length > 0 && (isLast || !hasTexts) && (
        <div className="observed">
          <h4>observation</h4>
          <ShownText text={turn.observation} />
        </div>
      )}
      {turn.info !== undefined && (
        <p className="facts">
          {Object.entries(turn.info).map(([name, value]) => (
            <span key={name}>
              <i>{name}</i> {visible(String(value).slice(0, 200))}
            </span>
          ))}
        </p>
      )}
    </section>
  );
};

const CallBlock = ({ call }: { call: ShownCall }) => (
  <div className={`call ${call.outcome === "ok" ? "" : "broken"}`}>
    <h4>
      tool call <bdi>{call.name.slice(0, 80)}</bdi> <span className="outcome">{call.outcome}</span>
    </h4>
    <ShownText text={call.arguments} className="arguments" />
    <ShownText text={call.observation} />
  </div>
);
