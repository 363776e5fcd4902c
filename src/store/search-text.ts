import type { Trajectory } from "../schema/index.ts";

// Scripts written without spaces: the index would take a whole sentence for one word.
const unspaced = /[\p{sc=Han}\p{sc=Hira}\p{sc=Kana}\p{sc=Thai}\p{sc=Laoo}\p{sc=Khmr}\p{sc=Mymr}]/gu;

/** The first of these scripts begins here, and most texts have no such character. */
const mayBeUnspaced = /[\u0e00-\uffff]/;

function spaced(text: string): string {
  if (!mayBeUnspaced.test(text)) return text;
  return text.replace(unspaced, " $& ");
}

/** What a search looks at. */
export function searchableText({ turns, failure = "" }: Trajectory): string {
  const said = turns.flatMap(({ text, calls, observation }) => [
    text,
    ...calls.flatMap((call) => [call.name, JSON.stringify(call.arguments), call.observation]),
    observation,
  ]);
  return spaced([...said, failure].join("\n"));
}

/** What was typed into a search box, as a phrase for FTS5: nothing in it is an operator but a `*` at the end. */
export function searchPhrase(text: string): string {
  const [, words = "", star = ""] = /^(.*?)(\*?)\s*$/s.exec(text) ?? [];
  return `"${spaced(words).replaceAll(/["\0]/g, " ")}"${star}`;
}

/** The words of a text as FTS5's `unicode61` takes them: letters and digits, without case and accents. */
export function searchWords(text: string): string[] {
  const plain = spaced(text).normalize("NFD").replace(/\p{M}/gu, "").toLowerCase();
  return plain.split(/[^\p{L}\p{N}\p{Co}]+/u).filter((word) => word !== "");
}
