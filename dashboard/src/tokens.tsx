import { useEffect, useRef, useState } from "react";
import type { LookAnswer, TokenColumns } from "../../src/server/dashboard/answers.ts";
import { short, whole } from "./numbers.ts";
import { visible } from "./shown-text.tsx";

export const colourings = {
  probability: "log-probability",
  entropy: "entropy under the last checkpoint",
  drift: "change since it was sampled",
  advantage: "reward above the group's mean",
  version: "policy version",
  none: "no colour",
} as const;

export type Colouring = keyof typeof colourings;

export interface TokenView {
  readonly tokens: TokenColumns;
  readonly colouring: Colouring;
  readonly look?: LookAnswer | undefined;
  /** Reward minus the mean of the group, in units of the group's largest such difference. */
  readonly advantage: number;
}

const most = 1500;

/** Tokens `start` to `end - 1`; what was sampled is underlined and coloured, what was read is not. */
export const Tokens = ({ view, start, end }: { view: TokenView; start: number; end: number }) => {
  const [isAll, setAll] = useState(false);
  const { tokens } = view;
  const from = Math.max(start, tokens.from) - tokens.from;
  const to = Math.min(end, tokens.from + tokens.ids.length) - tokens.from;
  const last = isAll ? to : Math.min(to, from + most);
  const shown = Array.from({ length: Math.max(0, last - from) }, (_, i) => from + i);
  return (
    <div className="text tokens" dir="auto">
      {shown.map((i) => (
        <Token key={i} view={view} index={i} />
      ))}
      {last < to && (
        <button type="button" className="more" onClick={() => setAll(true)}>
          … {whole(to - last)} more tokens
        </button>
      )}
      {end > tokens.from + tokens.ids.length && (
        <span className="quiet"> … {whole(end - start - (to - from))} not loaded</span>
      )}
    </div>
  );
};

const Token = ({ view, index }: { view: TokenView; index: number }) => {
  const { tokens } = view;
  const text = tokens.texts?.[index] ?? `${tokens.ids[index]} `;
  const isSampled = tokens.mask[index] === 1;
  const level = isSampled ? levelOf(view, index) : 0;
  return (
    <span
      data-t={index}
      className={`t${isSampled ? " said" : ""}${level < 0 ? " below" : ""}`}
      style={level === 0 ? undefined : ({ "--level": `${Math.round(Math.abs(level) * 100)}%` } as object)}
    >
      {text === "\n" ? "↵\n" : visible(text)}
    </span>
  );
};

/** -1 to 1: how strongly, and in which of two colours. */
function levelOf({ tokens, colouring, look, advantage }: TokenView, index: number): number {
  const at = tokens.from + index;
  const logprob = tokens.logprobs[index] ?? 0;
  switch (colouring) {
    case "probability":
      return Math.min(1, -logprob / 4);
    case "entropy":
      return Math.min(1, (look?.entropies[at] ?? 0) / 3);
    case "drift":
      return look === undefined ? 0 : Math.max(-1, Math.min(1, ((look.logprobs[at] ?? 0) - logprob) / 2));
    case "advantage":
      return advantage;
    case "version": {
      const sampled = tokens.versions.filter((version) => version >= 0);
      const [low, high] = [Math.min(...sampled), Math.max(...sampled)];
      return high === low ? 0 : (tokens.versions[index]! - low) / (high - low);
    }
    case "none":
      return 0;
    default:
      return colouring satisfies never;
  }
}

/** A line at the foot of the page about the token that is pointed at or tapped; its place is always kept. */
export const TokenNote = ({ tokens, look }: { tokens: TokenColumns; look?: LookAnswer | undefined }) => {
  const [at, setAt] = useState<number>();
  const note = useRef<HTMLDivElement>(null);
  useEffect(() => {
    const point = ({ target }: Event) => {
      const place = target instanceof HTMLElement ? target.dataset.t : undefined;
      if (place !== undefined) setAt(Number(place));
    };
    document.addEventListener("pointerover", point);
    document.addEventListener("click", point);
    return () => {
      document.removeEventListener("pointerover", point);
      document.removeEventListener("click", point);
    };
  }, []);
  const id = at === undefined ? undefined : tokens.ids[at];
  return (
    <div ref={note} className="token-note">
      {at === undefined || id === undefined ? (
        <span className="quiet">Point at a token, or tap it.</span>
      ) : (
        <>
          <span>
            <i>token</i> {tokens.from + at}
          </span>
          <span>
            <i>id</i> {id}
          </span>
          <code>{JSON.stringify(tokens.texts?.[at] ?? "")}</code>
          {tokens.mask[at] === 1 ? (
            <>
              <span>
                <i>p</i> {short(Math.exp(tokens.logprobs[at] ?? 0))}
              </span>
              <span>
                <i>log p</i> {short(tokens.logprobs[at])}
              </span>
              <span>
                <i>version</i> {tokens.versions[at]}
              </span>
              {look !== undefined && (
                <span>
                  <i>now</i> {short(look.logprobs[tokens.from + at])} <i>entropy</i>{" "}
                  {short(look.entropies[tokens.from + at])}
                </span>
              )}
            </>
          ) : (
            <span>read, mask 0</span>
          )}
        </>
      )}
    </div>
  );
};
