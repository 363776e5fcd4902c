/** A page has no process that a forgotten promise could end. */
export function runWatched<Value>(_tool: string, work: () => Value): Value {
  return work();
}
