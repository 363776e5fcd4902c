import { useState } from "react";
import { defined } from "../../src/defined.ts";
import type { PlayAnswer, SuggestionAnswer } from "../../src/server/dashboard/answers.ts";
import { type Problem, post, toProblem } from "./api.ts";
import { percent } from "./numbers.ts";
import { Panel, ProblemNote } from "./pieces.tsx";
import { visible } from "./shown-text.tsx";

interface SuggestionProps {
  readonly game: PlayAnswer;
  readonly isBusy: boolean;
  readonly onTell: (body: { tokens: readonly number[] }) => void;
}

/** Samples the checkpoint's next turn, whole or token by token. Clicking an alternative resamples from that token on. */
export const Suggestion = ({ game, isBusy, onTell }: SuggestionProps) => {
  const [said, setSaid] = useState<SuggestionAnswer>();
  const [problem, setProblem] = useState<Problem>();
  const [temperature, setTemperature] = useState(1);
  const [seed, setSeed] = useState(0);
  const [isAsking, setAsking] = useState(false);
  const ids = said?.tokens.map(({ id }) => id) ?? [];
  const ask = (given: readonly number[], maxTokens?: number) => {
    setAsking(true);
    const body = { given, temperature, seed, ...defined({ maxTokens }) };
    setSeed(seed + 1);
    post<SuggestionAnswer>(`/play/${game.session}/suggest`, body)
      .then((answer) => {
        setSaid(answer);
        setProblem(undefined);
      })
      .catch((error: unknown) => setProblem(toProblem(error)))
      .finally(() => setAsking(false));
  };
  return (
    <Panel title={`Checkpoint at step ${game.checkpoint}`}>
      <div className="tools">
        <button type="button" disabled={isAsking} onClick={() => ask([])}>
          Sample turn
        </button>
        <button type="button" disabled={isAsking || said?.stop === "stop-token"} onClick={() => ask(ids, 1)}>
          Sample token
        </button>
        <label>
          temperature
          <input
            className="small"
            type="number"
            min="0"
            max="2"
            step="0.1"
            value={temperature}
            onChange={(event) => setTemperature(Number(event.target.value))}
          />
        </label>
        <button
          type="button"
          className="main"
          disabled={isBusy || ids.length === 0}
          onClick={() => onTell({ tokens: ids })}
        >
          Send this
        </button>
      </div>
      <ProblemNote problem={problem} />
      <ol className="suggested">
        {said?.tokens.map((token, i) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: tokens are identified by their position
          <li key={i}>
            <span className={`t said${token.isGiven ? " given" : ""}`}>{shown(token.text)}</span>
            <span className="choices">
              {token.choices.map((choice) => (
                <button
                  key={choice.id}
                  type="button"
                  aria-current={choice.id === token.id ? "true" : undefined}
                  style={{ "--level": percent(Math.exp(choice.logprob ?? -99)) } as object}
                  onClick={() => ask([...ids.slice(0, i), choice.id])}
                >
                  {shown(choice.text)} <small>{percent(Math.exp(choice.logprob ?? -99))}</small>
                </button>
              ))}
            </span>
          </li>
        ))}
      </ol>
    </Panel>
  );
};

function shown(text: string): string {
  return text === "" ? "·" : visible(text).replaceAll("\n", "↵").replaceAll(" ", "␣");
}
