import { createRng, type Rng } from "../../random.ts";
import { bm25, type Hit } from "./bm25.ts";

/** What is known of each kind of thing, and of which kind that is. */
const relations = {
  person: { boss: "person", firm: "company", home: "city" },
  company: { owner: "person", seat: "city" },
  city: { land: "country", mayor: "person" },
  country: { king: "person", capital: "city" },
} as const satisfies Record<string, Readonly<Record<string, string>>>;

export type Kind = keyof typeof relations;
const kinds: readonly Kind[] = ["person", "company", "city", "country"];

/** One sentence of the knowledge base: the boss of Ana is Bo. */
export interface Fact {
  readonly subject: string;
  readonly relation: string;
  readonly object: string;
  readonly objectKind: Kind;
}

export interface KnowledgeBase {
  readonly facts: readonly Fact[];
  /** By subject. */
  readonly factsOf: ReadonlyMap<string, readonly Fact[]>;
  /** Indices of facts, best first. */
  find(query: string, most: number): readonly Hit[];
}

export interface KnowledgeBaseOptions {
  seed: number;
  /** Things of each of the four kinds. */
  entities: number;
  /** Of each name: three letters a syllable. */
  syllables: number;
}

/** Invents things with names that mean nothing, and one fact for each relation that a thing of its kind has. */
export function makeKnowledgeBase({ seed, entities, syllables }: KnowledgeBaseOptions): KnowledgeBase {
  const rng = createRng(seed);
  const names = inventNames(rng, kinds.length * entities, syllables);
  const namesOf = (kind: Kind) => {
    const at = kinds.indexOf(kind) * entities;
    return names.slice(at, at + entities);
  };
  const facts: Fact[] = kinds.flatMap((kind) =>
    namesOf(kind).flatMap((subject) =>
      Object.entries<Kind>(relations[kind]).map(([relation, objectKind]) => {
        const others = namesOf(objectKind).filter((name) => name !== subject);
        return { subject, relation, object: others[rng.integer(others.length)], objectKind };
      }),
    ),
  );
  // a document is a title and a sentence, so its subject counts twice
  const find = bm25(facts.map(({ subject, relation, object }) => `${subject} ${subject} ${relation} ${object}`));
  return { facts, factsOf: Map.groupBy(facts, ({ subject }) => subject), find };
}

const consonants = "bdfgklmnprstvz";
const vowels = "aeiou";

function inventNames(rng: Rng, count: number, syllables: number): string[] {
  const names = new Set<string>();
  while (names.size < count) {
    const syllable = () => letter(rng, consonants) + letter(rng, vowels) + letter(rng, consonants);
    const name = Array.from({ length: syllables }, syllable).join("");
    names.add(name.charAt(0).toUpperCase() + name.slice(1));
  }
  return [...names];
}

function letter(rng: Rng, letters: string): string {
  return letters.charAt(rng.integer(letters.length));
}

/** A walk from fact to fact that meets nothing twice; undefined where the way it took comes back. */
export function drawChain(base: KnowledgeBase, rng: Rng, hops: number): readonly Fact[] | undefined {
  const first = base.facts[rng.integer(base.facts.length)];
  const met = new Set([first.subject, first.object]);
  const chain = [first];
  while (chain.length < hops) {
    const next = base.factsOf.get(chain.at(-1)!.object)!;
    const fact = next[rng.integer(next.length)];
    if (met.has(fact.object)) return undefined;
    met.add(fact.object);
    chain.push(fact);
  }
  return chain;
}
