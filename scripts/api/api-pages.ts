import { type Entry, type EntryPoint, keyOf, type PublicApi } from "./read-api.ts";

/** What the pages are about, by folder of the main entry point, in reading order. */
const folders: Readonly<Record<string, string>> = {
  env: "Environments: defining, running and serving them",
  task: "Where tasks come from",
  tool: "What agents call",
  policy: "Tokenizers, chat templates, renderers and formats of calls",
  rollout: "Running episodes: rollouts, groups, demonstrations",
  train: "Training: `train`, presets, warm start, offline, replay",
  guide: "Choosing the next tasks",
  eval: "Measuring a policy",
  engine: "Engines: what holds the weights",
  schema: "The records that flow: tasks, turns, trajectories, groups, batches",
  store: "What a run leaves behind",
  monitor: "News of a run, and the doctor",
  checkpoint: "Whole checkpoints or none",
  src: "Errors, chance, schemas",
};

/** Of the other entry points, by what follows `ludus/`. Those of the folders above add what `ludus` leaves out. */
const others: Readonly<Record<string, string>> = {
  credit: "From rewards to advantages, and which groups are learned from",
  engine: "Requests and results of engines, checkpoints' configurations",
  env: "Episodes by hand, and limits",
  environments: "The environments that come with Ludus",
  eval: "Statistics of evaluations",
  guide: "Leases for guides of your own, and hints of shipped environments",
  loss: "From per-token numbers to per-token derivatives",
  monitor: "The doctor's parts, and options of monitors",
  policy: "Chat templates, tokenizers and what formats are made of",
  recipe: "Published systems as runnable recipes, with their results",
  reward: "Scores in parts: verifiers, published scorers, shaping, judges",
  rollout: "Speakers and contexts of rollouts",
  schema: "Records in JSON, JSON lines and binary form",
  server: "Dashboard, serving, recording and capturing",
  store: "What stores of runs are made of",
  tensor: "Typed graphs with automatic differentiation",
  testing: "Suites and fakes for your own tests (needs vitest)",
  tool: "Calls, schemas and sandboxes",
  train: "Options of presets, and what training is made of",
};

interface Page {
  readonly file: string;
  readonly title: string;
  readonly about: string;
  readonly entries: Entry[];
  /** Exported here too, and told on another page. */
  readonly elsewhere: Entry[];
  readonly unexported: Entry[];
}

/** Where an entry is told of: its page, and its place there. */
type Places = ReadonlyMap<string, { readonly file: string; readonly anchor: string }>;

/** The reference as files under docs/reference, by name. */
export function apiPages(api: PublicApi): Readonly<Record<string, string>> {
  const pages = api.entryPoints.flatMap(pagesOf);
  moveRepeated(pages);
  placeUnexported(pages, api.unexported);
  const places = placesOf(pages);
  const texts = pages.map((page) => [`api/${page.file}`, pageText(page, places)] as const);
  return { "api.md": indexText(pages, places), ...Object.fromEntries(texts) };
}

function pagesOf({ path, entries }: EntryPoint): Page[] {
  const name = path.split("/")[1];
  const sorted = entries.toSorted(byKindAndName);
  if (name !== undefined) {
    const about = others[name] ?? "";
    return [{ file: `ludus-${name}.md`, title: path, about, entries: sorted, elsewhere: [], unexported: [] }];
  }
  const byFolder = Object.groupBy(sorted, ({ source }) => /^src\/([^/]+)\//.exec(source)?.[1] ?? "src");
  const known = Object.keys(folders);
  const rank = (folder: string) => (known.includes(folder) ? known.indexOf(folder) : known.length);
  return Object.entries(byFolder)
    .toSorted(([a], [b]) => rank(a) - rank(b))
    .map(([folder, those = []]) => ({
      file: folder === "src" ? "ludus.md" : `${folder}.md`,
      title: folder === "src" ? "ludus: errors, chance, schemas" : `ludus: ${folder}`,
      about: folders[folder] ?? "",
      entries: those,
      elsewhere: [],
      unexported: [],
    }));
}

function byKindAndName(a: Entry, b: Entry): number {
  if (a.isType !== b.isType) return a.isType ? 1 : -1;
  return a.name.toLowerCase() < b.name.toLowerCase() ? -1 : 1;
}

/** What several entry points export is told once, on the page of the first. */
function moveRepeated(pages: readonly Page[]): void {
  const told = new Set<string>();
  for (const { entries, elsewhere } of pages) {
    const here = entries.splice(0);
    for (const entry of here) (told.has(keyOf(entry)) ? elsewhere : entries).push(entry);
    for (const entry of here) told.add(keyOf(entry));
  }
}

/** Each goes to the first page that speaks of it. */
function placeUnexported(pages: readonly Page[], unexported: PublicApi["unexported"]): void {
  const placed = new Set<string>();
  for (const page of pages) {
    const waiting = page.entries.flatMap(({ uses }) => uses);
    for (let key = waiting.shift(); key !== undefined; key = waiting.shift()) {
      const entry = unexported.get(key);
      if (entry === undefined || placed.has(key)) continue;
      placed.add(key);
      page.unexported.push(entry);
      waiting.push(...entry.uses);
    }
    page.unexported.sort(byKindAndName);
  }
}

function placesOf(pages: readonly Page[]): Places {
  const places = new Map<string, { file: string; anchor: string }>();
  for (const { file, entries, unexported } of pages) {
    const counts = new Map<string, number>();
    for (const entry of [...entries, ...unexported]) {
      const slug = entry.name.toLowerCase();
      const count = counts.get(slug) ?? 0;
      counts.set(slug, count + 1);
      const anchor = count === 0 ? slug : `${slug}-${count}`;
      if (!places.has(keyOf(entry))) places.set(keyOf(entry), { file, anchor });
    }
  }
  return places;
}

const made =
  "<!-- Made by scripts/api-reference.ts from the types. Change the comments in the source, then `npm run docs`. -->";

const sentence = (words: string) => (words === "" ? "" : `${words}. `);

function pageText(page: Page, places: Places): string {
  const section = (entry: Entry) => entryText(entry, page, places);
  const named = page.unexported.length === 0 ? [] : [unexportedNote, ...page.unexported.map(section)];
  const heads = [made, `# ${page.title}`, `${sentence(page.about)}[All of the API](../api.md).`];
  return `${[...heads, ...alsoHere(page, places, ""), ...page.entries.map(section), ...named].join("\n\n")}\n`;
}

/** Links to what is told on other pages; `folder` is where the pages are. */
function alsoHere({ elsewhere }: Page, places: Places, folder: string): string[] {
  if (elsewhere.length === 0) return [];
  const links = elsewhere.map((entry) => {
    const { file, anchor } = places.get(keyOf(entry))!;
    return `[\`${entry.name}\`](${folder}${file}#${anchor})`;
  });
  return [`Also exported here: ${links.join(" ")}`];
}

const unexportedNote =
  "---\n\nThe types below are named above. They are not exported: what takes one is given an object.";

function entryText({ name, code, text, source, uses }: Entry, { file }: Page, places: Places): string {
  const links = uses.flatMap((key) => {
    const place = places.get(key);
    const target = place === undefined ? "" : `${place.file === file ? "" : place.file}#${place.anchor}`;
    return place === undefined ? [] : [`[\`${key.split("#")[1]}\`](${target})`];
  });
  return [
    `## ${name}`,
    ...(text === "" ? [] : [prose(text)]),
    ...(code === "" ? [] : [`\`\`\`ts\n${code}\n\`\`\``]),
    [`[source](../../../${source})`, ...(links.length === 0 ? [] : [`see ${links.join(" ")}`])].join(" · "),
  ].join("\n\n");
}

/** What Markdown would take for a tag or a link is written so that it does not. */
function prose(text: string): string {
  return text
    .split(/(`[^`]*`)/)
    .map((part) => (part.startsWith("`") ? part : part.replace(/\{@link ([^}]+)\}/g, "`$1`").replace(/[<[*]/g, "\\$&")))
    .join("");
}

function indexText(pages: readonly Page[], places: Places): string {
  const sections = pages.map((page) => {
    const link = (entry: Entry) => {
      const own = places.get(keyOf(entry))!;
      return `[\`${entry.name}\`](api/${own.file}#${own.anchor})`;
    };
    const rows = page.entries
      .filter(({ isType }) => !isType)
      .map((entry) => `| ${link(entry)} | ${prose(firstSentence(entry.text)).replaceAll("|", "\\|")} |`);
    const types = page.entries.filter(({ isType }) => isType).map(link);
    return [
      `## ${page.title}`,
      `${sentence(page.about)}[Signatures](api/${page.file}).`,
      ...(rows.length === 0 ? [] : [`| | |\n|---|---|\n${rows.join("\n")}`]),
      ...(types.length === 0 ? [] : [`Types: ${types.join(" ")}`]),
      ...alsoHere(page, places, "api/"),
    ].join("\n\n");
  });
  const head = `# API

What can be imported, by entry point and, of \`ludus\` itself, by folder of the source. Names, signatures and first words come from the
source: \`npm run docs\` makes these pages, and a test compares them.`;
  return `${[made, head, ...sections].join("\n\n")}\n`;
}

function firstSentence(text: string): string {
  return (/^.*?\.(?= \P{Ll}|$)/u.exec(text)?.[0] ?? text).replace(/:$/, ".");
}
