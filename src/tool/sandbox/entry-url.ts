/** A program of this folder, to be started as a thread or process: built files end in .js, and Node runs the .ts itself. */
export function entryUrl(name: string): URL {
  return new URL(`./${name}${import.meta.url.endsWith(".ts") ? ".ts" : ".js"}`, import.meta.url);
}
