import { type ErrorDetails, errorText, LudusError } from "../../errors.ts";

type Explanation = Omit<ErrorDetails, "cause"> & { code: string };

/** What SQLite's primary result codes mean for a run. */
function explain(resultCode: number, file: string, message: string): Explanation {
  switch (resultCode) {
    case 5: // busy
    case 6: // locked
      return {
        code: "store-busy",
        got: `${file}, which another program keeps locked`,
        expected: "a lock within seconds",
        hint: "Close other programs that write to the file, such as an SQLite shell with an open transaction.",
      };
    case 8: // readonly
      return {
        code: "store-read-only",
        got: file,
        expected: "a file and folder that can be written to",
        hint: writable,
      };
    case 10: // input or output
      return {
        code: "store-failed",
        got: `${file}: ${message}`,
        expected: "a disk that reads and writes",
        hint: "Nothing of the failed transaction was kept. Check the disk and its free space, then resume.",
      };
    case 11: // corrupt
    case 26: // not a database
      return corrupt(file, message);
    case 13: // full
      return {
        code: "store-full",
        got: `${file}: ${message}`,
        expected: "room for more",
        hint: "Nothing of the failed transaction was kept, all before it was. Free some space, then resume.",
      };
    case 14: // cannot open
      return { code: "store-unopenable", got: file, expected: "a file that can be opened", hint: writable };
    default:
      return { code: "store-failed", got: `${file}: ${message}`, expected: "a statement that SQLite can run" };
  }
}

const writable = "Check the permissions of the file and of its folder; to look at a run, open it with readOnly: true.";

function corrupt(file: string, message: string): Explanation {
  return {
    code: "store-corrupt",
    got: `${file}: ${message}`,
    expected: "the run as it was written",
    hint: 'Copy the folder, then save what can be read with: sqlite3 run.sqlite ".recover" | sqlite3 recovered.sqlite',
  };
}

/** Runs something that talks to SQLite; its errors come out as ours, naming the file and the remedy. */
export function explained<Value>(file: string, work: () => Value): Value {
  try {
    return work();
  } catch (cause) {
    throw explainedError(file, cause);
  }
}

function explainedError(file: string, cause: unknown): unknown {
  if (!(cause instanceof Error) || cause instanceof LudusError) return cause;
  if ("errcode" in cause && typeof cause.errcode === "number") {
    const { code, ...details } = explain(cause.errcode & 0xff, file, cause.message);
    return new LudusError(code, { ...details, cause });
  }
  if (cause.message !== "database is not open" && cause.message !== "statement has been finalized") return cause;
  return new LudusError("store-closed", { got: `a use of ${file} after close()`, expected: "an open run", cause });
}

/** Reads a stored value; what cannot be read was damaged, since only whole values are written. */
export function readStored<Value>(file: string, what: string, read: () => Value): Value {
  try {
    return read();
  } catch (cause) {
    const message = errorText(cause);
    const { code, ...details } = corrupt(file, `${what} cannot be read (${message})`);
    throw new LudusError(code, { ...details, cause });
  }
}
