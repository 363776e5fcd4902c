/** An error that crossed a thread or process. */
export interface ErrorData {
  name: string;
  message: string;
  stack?: string | undefined;
}

const maxCharacters = 4_096;

/** Never throws, whatever was thrown: a getter of the value may be hostile, a message may be huge. */
export function toErrorData(thrown: unknown): ErrorData {
  try {
    if (!(thrown instanceof Error)) return { name: "NotAnError", message: cut(describe(thrown)) };
    const { name, message, stack } = thrown;
    return { name: cut(name), message: cut(message), stack: stack === undefined ? undefined : cut(stack) };
  } catch {
    return { name: "NotAnError", message: "a value that cannot be read" };
  }
}

function describe(thrown: unknown): string {
  return typeof thrown === "object" && thrown !== null ? (JSON.stringify(thrown) ?? "an object") : String(thrown);
}

const cut = (text: unknown) => String(text).slice(0, maxCharacters);
