import { LudusError } from "../../errors.ts";
import { nearest } from "../../nearest.ts";
import { createRng } from "../../random.ts";
import { pick } from "./draw.ts";
import type { Style } from "./moves.ts";

/** What a skill of this revision of the office's rules says. */
export interface FilingRule {
  readonly tray: string;
  readonly stamp: string;
}

interface OfficeSkill {
  readonly name: string;
  /** What the policy reads of it from the beginning. */
  readonly description: string;
  /** How a colleague asks for it. */
  readonly request: string;
  /** Whether the tray is in a file of the skill rather than in its instructions. */
  readonly hasFile: boolean;
}

const kinds: readonly (readonly [name: string, description: string, request: string])[] = [
  ["refunds", "money back", "I want my money back"],
  ["invoices", "bills to send", "a bill has to go out"],
  ["returns", "goods sent back", "the goods were sent back"],
  ["visas", "travel papers", "I need travel papers"],
  ["leave", "days off", "I take days off"],
  ["badges", "door cards", "my door card is lost"],
  ["parking", "places for cars", "my car has no place"],
  ["laptops", "new computers", "I need a new computer"],
  ["repairs", "broken things", "the lamp is broken"],
  ["trips", "trains and flights", "I take the train"],
  ["rooms", "places to meet", "we need somewhere to meet"],
  ["courses", "learning", "I am learning Greek"],
  ["payroll", "wages", "my wages are late"],
  ["contracts", "agreements", "the agreement is signed"],
  ["suppliers", "who delivers", "someone new delivers paper"],
  ["complaints", "unhappy customers", "a customer is unhappy"],
  ["events", "parties", "there will be a party"],
  ["catering", "food for guests", "guests need food"],
  ["mail", "letters", "a letter came"],
  ["archive", "old files", "these files are old"],
];

export const officeSkillList: readonly OfficeSkill[] = kinds.map(([name, description, request], index) => ({
  name,
  description,
  request,
  hasFile: index % 4 === 0,
}));

/** The places of skills by their names; of all where no names are given. */
export function placesOf(env: string, names: readonly string[] | undefined): readonly number[] {
  const known = officeSkillList.map(({ name }) => name);
  const wrong = names?.find((name) => !known.includes(name));
  if (names?.length === 0 || wrong !== undefined) {
    const meant = wrong === undefined ? undefined : nearest(wrong, known);
    throw new LudusError("bad-option", {
      got: `${env}: kinds ${JSON.stringify(names).slice(0, 200)}`,
      expected: `one or more of ${known.join(", ")}`,
      ...(meant === undefined ? {} : { hint: `Did you mean "${meant}"?` }),
    });
  }
  return (names ?? known).map((name) => known.indexOf(name));
}

export const trays = ["A1", "A2", "A3", "B1", "B2", "B3", "C1", "C2", "C3"] as const;
export const stamps = ["red", "blue", "green", "black"] as const;
export const trayFile = "trays.md";

/** The rules of all skills, by their place in the list. */
export function filingRules(revision: number): readonly FilingRule[] {
  const rng = createRng(revision);
  return officeSkillList.map(() => ({ tray: pick(rng, trays), stamp: pick(rng, stamps) }));
}

/** The instructions of a skill, which are read when it is activated. */
export function skillBody(
  { hasFile }: Pick<OfficeSkill, "hasFile">,
  { tray, stamp }: FilingRule,
  style: Style,
): string {
  if (style === "compact") return `${hasFile ? `tray in ${trayFile}` : `tray ${tray}`}, stamp ${stamp}`;
  return [
    "1. See that the request is dated and signed. If it is older than a year, write so in the margin.",
    `2. ${hasFile ? `Which tray it goes into is in ${trayFile}, as it changes often.` : `Put it into tray ${tray}.`}`,
    `3. Stamp it ${stamp}, beside the signature and not over it.`,
    "4. If a page is missing, file what is there and say so: the office asks for the rest.",
  ].join("\n");
}

export function trayText({ tray }: FilingRule, style: Style): string {
  return style === "compact" ? `tray ${tray}` : `All requests of this kind go into tray ${tray} until further notice.`;
}
