import { LudusError } from "../errors.ts";

/** Returns the state it was given; throws, naming the part, where a copy would lose something. */
export function checkState<State>(state: State): State {
  if (!isContainer(state)) throw notCopied(describe(state), "state", "an object, array, map or set");
  const seen = new Set<object>();
  const open: { readonly value: unknown; readonly path: string }[] = [{ value: state, path: "state" }];
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    const { value, path } = next;
    if (typeof value === "function" || typeof value === "symbol") throw notCopied(describe(value), path);
    if (typeof value !== "object" || value === null || seen.has(value)) continue;
    seen.add(value);
    if (isLeaf(value)) continue;
    if (!isContainer(value)) throw notCopied(describe(value), path);
    for (const [key, part] of partsOf(value)) open.push({ value: part, path: `${path}${key}` });
  }
  return state;
}

/** Puts all that `source` holds in the place of what `target` holds; the objects in it are new ones. */
export function replaceState(target: unknown, source: unknown): void {
  if (target instanceof Map && source instanceof Map) {
    target.clear();
    for (const [key, value] of source) target.set(key, value);
  } else if (target instanceof Set && source instanceof Set) {
    target.clear();
    for (const value of source) target.add(value);
  } else if (Array.isArray(target) && Array.isArray(source)) {
    target.length = 0;
    for (const value of source) target.push(value);
  } else if (isPlain(target) && isPlain(source)) {
    for (const key of Object.keys(target)) if (!Object.hasOwn(source, key)) delete target[key];
    for (const [key, value] of Object.entries(source)) target[key] = value;
  } else {
    throw new LudusError("state-replaced", {
      got: `${describe(source)} as the new state`,
      expected: `${describe(target)}, as before`,
      hint: "Change the fields of `context.state`, or assign another of the same kind.",
    });
  }
}

function isPlain(value: unknown): value is Record<string, unknown> {
  if (typeof value !== "object" || value === null) return false;
  const prototype = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null;
}

/** Exactly these: an instance of a class that extends one of them would come back as the bare thing. */
function isContainer(value: unknown): value is object {
  if (isPlain(value)) return true;
  const prototype = typeof value === "object" && value !== null ? Object.getPrototypeOf(value) : undefined;
  return prototype === Array.prototype || prototype === Map.prototype || prototype === Set.prototype;
}

function isLeaf(value: object): boolean {
  if (ArrayBuffer.isView(value) || value instanceof ArrayBuffer) return true;
  const prototype = Object.getPrototypeOf(value);
  return prototype === Date.prototype || prototype === RegExp.prototype;
}

function* partsOf(value: object): Iterable<[key: string, part: unknown]> {
  if (value instanceof Map) {
    for (const [key, part] of value) {
      yield [".keys()", key];
      yield [`.get(${typeof key === "string" ? JSON.stringify(key) : describe(key)})`, part];
    }
  } else if (value instanceof Set) for (const part of value) yield [".values()", part];
  else if (Array.isArray(value)) for (const [index, part] of value.entries()) yield [`[${index}]`, part];
  else for (const [key, part] of Object.entries(value)) yield [`.${key}`, part];
}

function describe(value: unknown): string {
  if (typeof value === "function") return value.name === "" ? "a function" : `the function ${value.name}`;
  if (typeof value !== "object" || value === null) return typeof value === "symbol" ? "a symbol" : String(value);
  const made: unknown = value.constructor;
  return `an instance of ${typeof made === "function" && made.name !== "" ? made.name : "Object"}`;
}

function notCopied(got: string, path: string, expected = "data: plain objects, arrays, maps, sets, dates, bytes") {
  return new LudusError("state-not-copied", {
    got: `${got} at \`${path}\``,
    expected,
    hint: "Keep it outside the state, or leave out `withState` and pass what the function needs as its input.",
  });
}
