/** Everything an iterable gives, in an array: for streams known to be short. */
export async function collect<Value>(values: AsyncIterable<Value> | Iterable<Value>): Promise<Value[]> {
  const all: Value[] = [];
  for await (const value of values) all.push(value);
  return all;
}
