/** An element of a snapshot, read from its text: the same for every kind of page. */
export interface SnapshotElement {
  readonly role: string;
  readonly name: string;
  readonly ref: string | undefined;
  /** What is written in it, or the option that is chosen. */
  readonly value: string;
  readonly url: string | undefined;
  readonly isChecked: boolean;
  readonly isActive: boolean;
  readonly depth: number;
  /** Options of a list. */
  readonly options: readonly string[];
}

type Draft = { -readonly [Key in keyof SnapshotElement]: SnapshotElement[Key] } & { options: string[] };

const line = /^(\s*)- ('?)(\/?[a-z]+)(?: "((?:[^"\\]|\\.)*)")?((?: \[[^\]]*\])*)\2(?::(?: (.*))?)?$/;

/** Reads snapshots of Playwright's form. Lines of another form are passed over. */
export function readSnapshot(snapshot: string): SnapshotElement[] {
  const elements: Draft[] = [];
  for (const text of snapshot.split("\n")) {
    const found = line.exec(text);
    if (found === null) continue;
    const [, indent, quote, role, rawName = "", marks, rawValue = ""] = found;
    const name = plain(`"${quote === "" ? rawName : rawName.replace(/''/g, "'")}"`);
    const value = plain(rawValue);
    const last = elements.at(-1);
    if (role === "/url" && last !== undefined) last.url = value;
    else if (role === "option" && last?.role === "combobox") {
      last.options.push(name);
      if (marks.includes("[selected]")) last.value = name;
    } else
      elements.push({ ...marksOf(marks), role, name, value, url: undefined, depth: indent.length / 2, options: [] });
  }
  return elements;
}

function marksOf(marks: string): Pick<Draft, "ref" | "isChecked" | "isActive"> {
  return {
    ref: /\[ref=(\w+)\]/.exec(marks)?.[1],
    isChecked: marks.includes("[checked]"),
    isActive: marks.includes("[active]"),
  };
}

/** Without the quotes of YAML, where there are any. */
function plain(text: string): string {
  if (!text.startsWith('"') || !text.endsWith('"') || text.length < 2) return text;
  try {
    return String(JSON.parse(text.replace(/\\x([0-9a-f]{2})/g, "\\u00$1")));
  } catch {
    return text.slice(1, -1);
  }
}
