import { readFileSync } from "node:fs";
import { join, relative } from "node:path";
import { SyntaxKind } from "typescript/unstable/ast";
import { API, type Checker, type Project, type Symbol as Sym, SymbolFlags } from "typescript/unstable/sync";
import { codeOf, typeNamesIn } from "./declaration-text.ts";

/** A public name, or a type that one of them speaks of. */
export interface Entry {
  readonly name: string;
  readonly isType: boolean;
  /** Its declaration as it is written, without bodies. */
  readonly code: string;
  /** The first paragraph of its comment. */
  readonly text: string;
  /** The file it is in, from the root of the repository. */
  readonly source: string;
  /** Entries of this repository that its declaration names, by `source#name`. */
  readonly uses: readonly string[];
}

export interface EntryPoint {
  /** As it is imported: `ludus/loss`. */
  readonly path: string;
  readonly entries: readonly Entry[];
}

export interface PublicApi {
  readonly entryPoints: readonly EntryPoint[];
  /** Types that are not exported and yet needed to use something that is, by `source#name`. */
  readonly unexported: ReadonlyMap<string, Entry>;
}

export const keyOf = ({ source, name }: Pick<Entry, "source" | "name">) => `${source}#${name}`;

/** What can be imported from the package, read with the compiler. */
export function readApi(root: string): PublicApi {
  const api = new API({ cwd: root });
  try {
    const config = join(root, "tsconfig.json");
    const project = api.updateSnapshot({ openProjects: [config] }).getProject(config);
    if (project === undefined) throw new Error(`${config} cannot be opened`);
    const reader = new Reader(root, project);
    const entryPoints = sourcesOf(root).map(([path, source]) => ({ path, entries: reader.exportsOf(source) }));
    return { entryPoints, unexported: reader.unexported(entryPoints.flatMap(({ entries }) => entries)) };
  } finally {
    api.close();
  }
}

/** Entry points with their files: `["ludus/loss", "src/loss/index.ts"]`. */
function sourcesOf(root: string): [string, string][] {
  const { name, exports } = JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as {
    name: string;
    exports: Record<string, string | { default: string }>;
  };
  return Object.entries(exports).flatMap(([path, target]) =>
    typeof target === "string"
      ? []
      : [[join(name, path), target.default.replace("./dist/", "src/").replace(/\.js$/, ".ts")] as [string, string]],
  );
}

class Reader {
  readonly #root: string;
  readonly #project: Project;
  readonly #checker: Checker;
  readonly #symbols = new Map<string, Sym>();

  constructor(root: string, project: Project) {
    this.#root = root;
    this.#project = project;
    this.#checker = project.checker;
  }

  exportsOf(source: string): Entry[] {
    const file = this.#project.program.getSourceFile(join(this.#root, source));
    const module = file && this.#checker.getSymbolAtLocation(file);
    if (module === undefined) throw new Error(`${source} is no module`);
    return this.#checker.getExportsOfModule(module).map((symbol) => this.#entryOf(this.#meant(symbol), symbol.name));
  }

  /** What `entries` speak of and is not among them, and the options those have. Deeper down are the insides. */
  unexported(entries: readonly Entry[]): ReadonlyMap<string, Entry> {
    const known = new Set(entries.map(keyOf));
    const found = new Map<string, Entry>();
    const waiting = entries.flatMap(({ uses }) => uses);
    for (let key = waiting.shift(); key !== undefined; key = waiting.shift()) {
      if (known.has(key) || found.has(key) || isInside(key)) continue;
      const symbol = this.#symbols.get(key)!;
      const entry = this.#entryOf(symbol, symbol.name);
      found.set(key, entry);
      waiting.push(...entry.uses.filter((each) => each.endsWith("Options")));
    }
    return found;
  }

  #entryOf(symbol: Sym, name: string): Entry {
    const source = this.#sourceOf(symbol);
    if (source === undefined) return foreign(name, symbol);
    const nodes = symbol.declarations.map((handle) => handle.resolve(this.#project)!);
    const comment = this.#checker.getDocumentationCommentOfSymbol(symbol);
    const used = nodes.flatMap(typeNamesIn).map((node) => this.#checker.getSymbolAtLocation(node));
    const uses = used.flatMap((each) => this.#remember(each)).filter((key) => key !== `${source}#${name}`);
    return {
      name,
      source,
      uses: [...new Set(uses)].sort(),
      isType: (symbol.flags & SymbolFlags.Value) === 0,
      code: codeOf(nodes, (node) => this.#checker.typeToString(this.#checker.getTypeAtLocation(node)!)),
      text: comment
        .split(/\n\s*\n/, 1)[0]
        .replace(/\s*\n\s*/g, " ")
        .trim(),
    };
  }

  /** The key of a type that is declared in this repository; type parameters have none. */
  #remember(symbol: Sym | undefined): string[] {
    if (symbol === undefined) return [];
    const meant = this.#meant(symbol);
    const source = this.#sourceOf(meant);
    const isParameter = meant.declarations[0]?.kind === SyntaxKind.TypeParameter;
    if (source === undefined || isParameter) return [];
    const key = keyOf({ source, name: meant.name });
    this.#symbols.set(key, meant);
    return [key];
  }

  #meant(symbol: Sym): Sym {
    return symbol.flags & SymbolFlags.Alias ? this.#checker.getAliasedSymbol(symbol) : symbol;
  }

  #sourceOf(symbol: Sym): string | undefined {
    const path = symbol.declarations[0]?.path;
    const source = path === undefined ? undefined : relative(this.#root, path).replaceAll("\\", "/");
    return source?.startsWith("src/") ? source : undefined;
  }
}

/** What worlds are made of is told by the page about them. */
const isInside = (key: string) => key.startsWith("src/env/environments/") && !key.endsWith("Options");

/** A name of another package that is passed on. */
function foreign(name: string, symbol: Sym): Entry {
  const home = /node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(symbol.declarations[0]?.path ?? "")?.[1] ?? "another package";
  return { name, isType: false, code: "", text: `\`${name}\` of \`${home}\`.`, source: "src/index.ts", uses: [] };
}
