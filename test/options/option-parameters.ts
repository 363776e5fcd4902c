import { readFileSync } from "node:fs";
import { join, relative } from "node:path";
import { API, type Checker, SignatureKind, type Symbol as Sym, SymbolFlags, type Type } from "typescript/unstable/sync";

/** A public function, or one of a public object, whose last parameter is an object. */
export interface OptionsFunction {
  /** The entry point's file: `src/eval/index.ts`. */
  readonly module: string;
  /** Such as `evaluate`, or `formats.hermes`. */
  readonly name: string;
  readonly source: string;
  /** Which parameter it is. */
  readonly index: number;
  /** Its type as it is written, without `Partial`. */
  readonly type: string;
  readonly isClass: boolean;
}

/** Reads them with the compiler, each once. */
export function optionsFunctions(root: string): OptionsFunction[] {
  const api = new API({ cwd: root });
  try {
    const config = join(root, "tsconfig.json");
    const project = api.updateSnapshot({ openProjects: [config] }).getProject(config);
    if (project === undefined) throw new Error(`${config} cannot be opened`);
    const { checker, program } = project;
    const found = new Map<string, OptionsFunction>();
    for (const module of modulesOf(root)) {
      const file = program.getSourceFile(join(root, module));
      for (const exported of checker.getExportsOfModule(checker.getSymbolAtLocation(file!)!)) {
        const symbol = exported.flags & SymbolFlags.Alias ? checker.getAliasedSymbol(exported) : exported;
        const source = relative(root, symbol.declarations[0]?.path ?? "");
        if ((symbol.flags & SymbolFlags.Value) === 0 || !source.startsWith("src/")) continue;
        for (const each of functionsOf(checker, symbol, exported.name)) {
          const key = `${source}#${each.name}`;
          if (!found.has(key)) found.set(key, { ...each, module, source });
        }
      }
    }
    return [...found.values()];
  } finally {
    api.close();
  }
}

function modulesOf(root: string): string[] {
  const { exports } = JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as {
    exports: Record<string, string | { default: string }>;
  };
  return Object.values(exports).flatMap((target) =>
    typeof target === "string" ? [] : [target.default.replace("./dist/", "src/").replace(/\.js$/, ".ts")],
  );
}

type Found = Pick<OptionsFunction, "name" | "index" | "type" | "isClass">;

function functionsOf(checker: Checker, symbol: Sym, name: string): Found[] {
  const type = checker.getTypeOfSymbol(symbol)!;
  const own = lastObjectParameter(checker, type, name);
  const isFunction = checker.getSignaturesOfType(type, SignatureKind.Call).length > 0;
  if (own.length > 0 || isFunction || symbol.flags & SymbolFlags.Class) return own;
  // an object of functions, such as `models` and `formats`
  return checker.getPropertiesOfType(type).flatMap((property) => {
    const isDeclaredHere = property.declarations[0]?.path.includes("/src/");
    const inner = isDeclaredHere ? checker.getTypeOfSymbol(property) : undefined;
    return inner === undefined ? [] : lastObjectParameter(checker, inner, `${name}.${property.name}`);
  });
}

function lastObjectParameter(checker: Checker, type: Type, name: string): Found[] {
  const calls = checker.getSignaturesOfType(type, SignatureKind.Call);
  const isClass = calls.length === 0;
  const signatures = isClass ? checker.getSignaturesOfType(type, SignatureKind.Construct) : calls;
  for (const signature of signatures) {
    const parameters = signature.getParameters();
    const last = parameters.at(-1);
    if (last === undefined) continue;
    const given = checker.getNonNullableType(checker.getTypeOfSymbol(last)!)!;
    if (!isObjectOfFields(checker, given)) continue;
    const text = checker.typeToString(given);
    return [{ name, index: parameters.length - 1, type: /^Partial<(.*)>$/.exec(text)?.[1] ?? text, isClass }];
  }
  return [];
}

/** An object with fields that have names: no function, list, map of anything or class of the platform. */
function isObjectOfFields(checker: Checker, type: Type): boolean {
  const types = type.isUnionType() ? type.getTypes()! : [type];
  return types.some((each) => {
    const properties = checker.getPropertiesOfType(each);
    const isOurs = properties.some(({ declarations }) => declarations[0]?.path.includes("/src/"));
    return (
      isOurs &&
      !checker.isArrayLikeType(each) &&
      checker.getSignaturesOfType(each, SignatureKind.Call).length === 0 &&
      checker.getIndexInfosOfType(each).length === 0
    );
  });
}
