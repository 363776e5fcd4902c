/**
 * JSON text in which equal values are equal: what JSON drops or confuses (NaN, infinities, bigint, Map, Set, undefined) gets a
 * form of its own, keys are sorted, and -0 is 0. Used on both sides of a comparison, the tested one inside its own realm, and
 * so it must not refer to anything outside itself.
 */
export function toComparable(value: unknown): string {
  const open: unknown[] = [];
  const write = (item: unknown): string => {
    // first, and with nothing that the tested code could have replaced: true is what most tests expect
    if (typeof item === "boolean") return item ? "true" : "false";
    if (item === undefined) return '{"$":"undefined"}';
    if (typeof item === "bigint") return `{"$bigint":"${item}"}`;
    if (typeof item === "number") return item - item === 0 ? `${item}` : `{"$number":"${item}"}`;
    if (typeof item === "function" || typeof item === "symbol") throw new TypeError(`a ${typeof item} is not data`);
    if (typeof item !== "object" || item === null) return JSON.stringify(item);
    if (open.includes(item)) throw new TypeError("a circular value is not data");
    open.push(item);
    const text = writeObject(item);
    open.pop();
    return text;
  };
  const list = (items: readonly unknown[]) => `[${Array.from(items, write).join(",")}]`;
  const writeObject = (item: object): string => {
    if (Array.isArray(item) || ArrayBuffer.isView(item)) return list(Array.from(item as ArrayLike<unknown>));
    if (item instanceof Map) return `{"$map":${list(Array.from(item))}}`;
    if (item instanceof Set) return `{"$set":${list(Array.from(item))}}`;
    if (item instanceof Date) return JSON.stringify(Number.isNaN(item.getTime()) ? null : item.toISOString());
    const entries = Object.entries(item).filter(([, part]) => part !== undefined);
    const sorted = entries.sort(([a], [b]) => (a < b ? -1 : 1));
    return `{${sorted.map(([key, part]) => `${JSON.stringify(key)}:${write(part)}`).join(",")}}`;
  };
  return write(value);
}
