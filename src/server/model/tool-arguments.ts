/** A client may send back anything as a call's arguments; what is no object is kept under one name. */
export function toolArguments(text: string): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value === "object" && value !== null && !Array.isArray(value)) return { ...value };
    return { value };
  } catch {
    return { value: text };
  }
}
