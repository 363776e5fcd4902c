import type { KnownOptions } from "../known-options.ts";
import type { Turn } from "../schema/turn.ts";
import type { ScoredEpisode } from "./reward.ts";

/** The text of an episode that is scored. */
export type TextOf<Data = unknown, State = unknown> = (episode: ScoredEpisode<Data, State>) => string;

/** The right answer to a task, or all that are right. */
export type GoldOf<Data> = (task: Data) => string | readonly string[];

export interface TextOptions<Data, State> {
  text: TextOf<Data, State>;
}

export const knownTextOptions: KnownOptions<TextOptions<unknown, unknown>> = { text: true };

/** What the policy said last, thoughts included. */
export function lastText({ turns }: Pick<ScoredEpisode, "turns">): string {
  return turns.at(-1)?.text ?? "";
}

/** Everything the policy said. */
export function allText({ turns }: Pick<ScoredEpisode, "turns">): string {
  return turns.map(({ text }) => text).join("\n");
}

export interface TranscriptTags {
  /** The tag around what the environment said. */
  readonly observation: string;
  /** Every tag that means something in the format. */
  readonly all: readonly string[];
}

/**
 * The episode as one text, as in Search-R1 and ReSearch: the policy's words, and after each turn what the environment said in
 * its tag. Tags inside observations are removed, so that a retrieved passage cannot contain the answer tag. Where the policy writes the
 * environment's tag itself, the tag is doubled, which every strict format rejects.
 */
export function taggedTranscript(turns: readonly Turn[], { observation, all }: TranscriptTags): string {
  const anyTag = new RegExp(`</?(?:${all.join("|")})>`, "g");
  const [opening, closing] = [`<${observation}>`, `</${observation}>`];
  return turns
    .map((turn) => {
      const said = turn.text.replaceAll(opening, opening + opening).replaceAll(closing, closing + closing);
      // replaced by a space: otherwise the text on either side could form a new tag
      const seen = turn.observation.replace(anyTag, " ").trim();
      return seen === "" ? said : `${said}${opening}${seen}${closing}`;
    })
    .join("");
}
