import { type ReactNode, useEffect, useState } from "react";
import type { LookAnswer, TokenColumns } from "../../src/server/dashboard/answers.ts";
import { short, whole } from "./numbers.ts";
import { visible } from "./shown-text.tsx";

export const colourings = {
  probability: "log-probability",
  advantage: "advantage",
  entropy: "entropy under the last checkpoint",
  drift: "log-probability change since sampling",
  reward: "reward relative to the group mean",
  version: "policy version",
  none: "none",
} as const;

export type Colouring = keyof typeof colourings;

export interface TokenView {
  readonly tokens: TokenColumns;
  readonly colouring: Colouring;
  readonly look?: LookAnswer | undefined;
  /** Reward minus the mean of the group, in units of the group's largest such difference. */
  readonly relativeReward: number;
}

const most = 1500;

/** By its block's element, so that one listener on the document finds the view of any token. */
const viewOf = new WeakMap<Element, TokenView>();

/** Tokens `start` to `end - 1`. Sampled tokens are underlined and coloured, context tokens are not. */
export const Tokens = ({ view, start, end }: { view: TokenView; start: number; end: number }) => {
  const [isAll, setAll] = useState(false);
  const { tokens } = view;
  const from = Math.max(start, tokens.from) - tokens.from;
  const to = Math.min(end, tokens.from + tokens.ids.length) - tokens.from;
  const last = isAll ? to : Math.min(to, from + most);
  const shown = Array.from({ length: Math.max(0, last - from) }, (_, i) => from + i);
  return (
    <div
      className="text tokens"
      dir="auto"
      ref={(block) => {
        if (block !== null) viewOf.set(block, view);
      }}
    >
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

/** Intensity from -1 to 1; the sign chooses one of two colours. */
function levelOf({ tokens, colouring, look, relativeReward }: TokenView, index: number): number {
  const at = tokens.from + index;
  const logprob = tokens.logprobs[index] ?? 0;
  switch (colouring) {
    case "probability":
      // the square root keeps small differences visible
      return Math.sqrt(Math.min(1, -logprob / 5));
    case "entropy":
      return Math.sqrt(Math.min(1, (look?.entropies[at] ?? 0) / 4));
    case "drift":
      return look === undefined ? 0 : Math.max(-1, Math.min(1, ((look.logprobs[at] ?? 0) - logprob) / 2));
    case "advantage": {
      const advantage = tokens.advantages?.[index] ?? 0;
      return Math.sign(advantage) * Math.sqrt(Math.abs(advantage) / largestAdvantage(tokens));
    }
    case "reward":
      return relativeReward;
    case "version": {
      const sampled = tokens.versions.filter((version) => version >= 0);
      const [low, high] = [Math.min(...sampled), Math.max(...sampled)];
      return high === low ? 0 : (tokens.versions[index] - low) / (high - low);
    }
    case "none":
      return 0;
    default:
      return colouring satisfies never;
  }
}

/** Cached by answer, because every token needs it. At least 0.25, so that small advantages stay pale. */
function largestAdvantage(tokens: TokenColumns): number {
  const known = largest.get(tokens);
  if (known !== undefined) return known;
  const found = (tokens.advantages ?? []).reduce<number>((most, each) => Math.max(most, Math.abs(each ?? 0)), 0.25);
  largest.set(tokens, found);
  return found;
}

const largest = new WeakMap<TokenColumns, number>();

/** Labels of the two colours. */
export const colourKeys: Readonly<Record<Colouring, { readonly heat: string; readonly cold?: string } | undefined>> = {
  probability: { heat: "less probable" },
  advantage: { heat: "above 0", cold: "below 0" },
  entropy: { heat: "more uncertain" },
  drift: { heat: "more probable now", cold: "less probable now" },
  reward: { heat: "above the mean", cold: "below the mean" },
  version: { heat: "newer" },
  none: undefined,
};

export const ColourKey = ({ colouring }: { colouring: Colouring }) => {
  const key = colourKeys[colouring];
  return (
    <span className="colour-key">
      {key?.cold !== undefined && (
        <span>
          <i className="swatch below" /> {key.cold}
        </span>
      )}
      {key !== undefined && (
        <span>
          <i className="swatch" /> {key.heat}
        </span>
      )}
      <span>
        <span className="said-key">sampled</span> <span className="quiet">context, mask 0</span>
      </span>
    </span>
  );
};

/** A status line about the token under the pointer. Always rendered, so that the layout does not shift. */
export const TokenNote = () => {
  const [at, setAt] = useState<{ view: TokenView; index: number }>();
  useEffect(() => {
    const point = ({ target }: Event) => {
      if (!(target instanceof HTMLElement) || target.dataset.t === undefined) return;
      const block = target.closest(".tokens");
      const view = block === null ? undefined : viewOf.get(block);
      if (view !== undefined) setAt({ view, index: Number(target.dataset.t) });
    };
    document.addEventListener("pointerover", point);
    document.addEventListener("click", point);
    return () => {
      document.removeEventListener("pointerover", point);
      document.removeEventListener("click", point);
    };
  }, []);
  return (
    <div className="token-note">
      {at === undefined ? (
        <span className="quiet">Hover over a token or tap it for details.</span>
      ) : (
        <TokenFacts {...at} />
      )}
    </div>
  );
};

const TokenFacts = ({ view: { tokens, look }, index }: { view: TokenView; index: number }) => {
  const place = tokens.from + index;
  const logprob = tokens.logprobs[index];
  return (
    <>
      <Fact name="token">{place}</Fact>
      <Fact name="id">{tokens.ids[index]}</Fact>
      <code>{JSON.stringify(tokens.texts?.[index] ?? "").slice(0, 60)}</code>
      {tokens.mask[index] === 1 ? (
        <>
          <Fact name="p">{short(Math.exp(logprob ?? 0))}</Fact>
          <Fact name="log p">{short(logprob)}</Fact>
          {tokens.advantages !== undefined && <Fact name="advantage">{short(tokens.advantages[index])}</Fact>}
          <Fact name="version">{tokens.versions[index]}</Fact>
          {look !== undefined && <Fact name="now">{short(look.logprobs[place])}</Fact>}
          {look !== undefined && <Fact name="entropy">{short(look.entropies[place])}</Fact>}
        </>
      ) : (
        <span>context, mask 0</span>
      )}
    </>
  );
};

const Fact = ({ name, children }: { name: string; children: ReactNode }) => (
  <span>
    <i>{name}</i> {children}
  </span>
);
