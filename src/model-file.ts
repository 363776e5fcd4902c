import { existsSync, readFileSync, realpathSync, statSync } from "node:fs";
import { basename, dirname, join, resolve, sep } from "node:path";
import { isTooDeep } from "./bounded-json.ts";
import { bounds } from "./bounds.ts";
import { errorText, LudusError } from "./errors.ts";

/**
 * The path of a file of a model folder, which may be anybody's: a file of this very folder and no other, whatever it is called and
 * wherever it points to. Hugging Face's cache links to the `blobs` beside its `snapshots`; that is the same download.
 */
export function modelFile(directory: string, name: string): string {
  const path = join(directory, name);
  if (name === "" || name === "." || name === ".." || basename(name) !== name || /[\\/\0]/.test(name)) {
    throw outside(directory, `the name ${JSON.stringify(name.slice(0, 200))}`);
  }
  if (!existsSync(path)) {
    throw new LudusError("checkpoint-not-found", { got: `no ${path}`, expected: "the file that the folder speaks of" });
  }
  const real = attempt(path, () => realpathSync(path));
  const folder = realpathSync(directory);
  const homes = basename(dirname(folder)) === "snapshots" ? [folder, resolve(folder, "../../blobs")] : [folder];
  if (!homes.some((home) => real.startsWith(home + sep))) throw outside(directory, `${path}, which leads to ${real}`);
  if (!attempt(path, () => statSync(real)).isFile()) throw unreadable(path, "it is no file");
  return real;
}

/** The text of a file of a model folder. */
export function readModelText(directory: string, name: string): string {
  const path = modelFile(directory, name);
  const { size } = statSync(path);
  if (size > bounds.modelFileBytes) throw unreadable(join(directory, name), `it has ${size} bytes`);
  return attempt(join(directory, name), () => readFileSync(path, "utf8"));
}

/** The same as JSON. */
export function readModelJson(directory: string, name: string): unknown {
  const text = readModelText(directory, name);
  return attempt(join(directory, name), () => parseModelJson(text));
}

/** Throws for text that is no JSON, or nested so deep that reading it would exhaust the stack. */
export function parseModelJson(text: string): unknown {
  if (isTooDeep(text)) throw new RangeError(`it is nested deeper than ${bounds.jsonDepth} levels`);
  return JSON.parse(text);
}

function attempt<Value>(path: string, read: () => Value): Value {
  try {
    return read();
  } catch (cause) {
    throw unreadable(path, errorText(cause).slice(0, 500), cause);
  }
}

function unreadable(path: string, why: string, cause?: unknown): LudusError {
  return new LudusError("bad-model-folder", {
    got: `${path}: ${why}`,
    expected: `a readable file of at most ${bounds.modelFileBytes} bytes, in JSON where its name ends so`,
    cause,
  });
}

function outside(directory: string, got: string): LudusError {
  return new LudusError("bad-model-folder", {
    got: `${got} in ${directory}`,
    expected: "a file of the same folder",
    hint: "A folder from elsewhere must not make a program read other files. Copy the file into the folder if it is yours.",
  });
}
