import { createHash } from "node:crypto";
import { deflateSync } from "node:zlib";

export interface HistoryCommit {
  readonly message: string;
  /** All files after it. */
  readonly files: Readonly<Record<string, string>>;
}

const author = "Ada <ada@example.com>";
const firstDay = 1_700_000_000;
const daySeconds = 86_400;

/** The folder `.git` after these commits on the branch `main`, by path: what `git log`, `show`, `blame`, `diff` and `status` read. */
export function gitFolder(commits: readonly HistoryCommit[]): Record<string, Uint8Array> {
  const folder: Record<string, Uint8Array> = {};
  const put = (kind: string, content: Uint8Array) => {
    const bytes = Buffer.concat([Buffer.from(`${kind} ${content.byteLength}\0`), content]);
    const id = sha1(bytes);
    folder[`.git/objects/${id.slice(0, 2)}/${id.slice(2)}`] = deflateSync(bytes);
    return id;
  };
  let last: string | undefined;
  for (const [index, { message, files }] of commits.entries()) {
    const tree = putTree(files, put);
    const when = `${author} ${firstDay + index * daySeconds} +0000`;
    const parent = last === undefined ? [] : [`parent ${last}`];
    const lines = [`tree ${tree}`, ...parent, `author ${when}`, `committer ${when}`, "", message, ""];
    last = put("commit", Buffer.from(lines.join("\n")));
  }
  folder[".git/HEAD"] = Buffer.from("ref: refs/heads/main\n");
  folder[".git/refs/heads/main"] = Buffer.from(`${last}\n`);
  folder[".git/config"] = Buffer.from("[core]\n\trepositoryformatversion = 0\n\tbare = false\n");
  folder[".git/index"] = indexOf(commits.at(-1)?.files ?? {});
  return folder;
}

const sha1 = (bytes: Uint8Array) => createHash("sha1").update(bytes).digest("hex");
const byName = ([one]: readonly [string, string], [other]: readonly [string, string]) => (one < other ? -1 : 1);
const blobId = (text: string) => sha1(Buffer.from(`blob ${Buffer.byteLength(text)}\0${text}`));

/** Files lie beside each other; there are no folders. */
function putTree(files: Readonly<Record<string, string>>, put: (kind: string, content: Uint8Array) => string): string {
  const entries = Object.entries(files)
    .sort(byName)
    .flatMap(([path, text]) => [Buffer.from(`100644 ${path}\0`), Buffer.from(put("blob", Buffer.from(text)), "hex")]);
  return put("tree", Buffer.concat(entries));
}

/** Version 2. Nothing is said of times and sizes, so that git compares contents the first time it looks. */
function indexOf(files: Readonly<Record<string, string>>): Uint8Array {
  const entries = Object.entries(files)
    .sort(byName)
    .map(([path, text]) => {
      const head = Buffer.alloc(62);
      head.writeUInt32BE(0o100644, 24);
      head.write(blobId(text), 40, "hex");
      head.writeUInt16BE(Math.min(Buffer.byteLength(path), 0xfff), 60);
      const named = Buffer.concat([head, Buffer.from(path)]);
      return Buffer.concat([named, Buffer.alloc(8 - (named.byteLength % 8))]);
    });
  const head = Buffer.from("DIRC\0\0\0\x02\0\0\0\0", "latin1");
  head.writeUInt32BE(entries.length, 8);
  const body = Buffer.concat([head, ...entries]);
  return Buffer.concat([body, Buffer.from(sha1(body), "hex")]);
}

/**
 * How a repository came to be: modules one after the other, those they call first; the change that brought the bug, before the last module; the
 * tests.
 */
export function commitsOf(
  files: Readonly<Record<string, string>>,
  bug: { readonly path: string; readonly line: number },
  right: string,
): HistoryCommit[] {
  const paths = Object.keys(files);
  const [tests, modules] = [paths.filter(isTests), paths.filter((path) => !isTests(path))];
  const ordered = calledFirst(files, modules);
  const later = ordered.findLast((path) => path !== bug.path)!;
  const before = ordered.filter((path) => path !== later);
  const commits: HistoryCommit[] = [];
  let now: Record<string, string> = {};
  const commit = (message: string, path: string, text: string) => {
    now = { ...now, [path]: text };
    commits.push({ message, files: now });
  };
  for (const path of before) commit(`Add ${nameOf(path)}`, path, path === bug.path ? right : files[path]!);
  commit(`Change ${functionAt(files[bug.path]!, bug.line)}`, bug.path, files[bug.path]!);
  commit(`Add ${nameOf(later)}`, later, files[later]!);
  for (const path of tests) commit("Add tests", path, files[path]!);
  return commits;
}

const isTests = (path: string) => /^tests\.\w+$/.test(path);
const nameOf = (path: string) => path.replace(/\.\w+$/, "");

function calledFirst(files: Readonly<Record<string, string>>, modules: readonly string[]): string[] {
  const left = [...modules];
  const done: string[] = [];
  const calls = (path: string, other: string) =>
    new RegExp(`from ${nameOf(other)} import|require\\("\\./${nameOf(other)}\\.js"\\)`).test(files[path]!);
  while (left.length > 0) {
    const next = left.find((path) => !left.some((other) => other !== path && calls(path, other))) ?? left[0]!;
    left.splice(left.indexOf(next), 1);
    done.push(next);
  }
  return done;
}

/** The name of the function that a line is in. */
function functionAt(text: string, line: number): string {
  const above = text.split("\n").slice(0, line).reverse();
  const [, name] = above.map((each) => /^(?:def|function) (\w+)/.exec(each)).find((match) => match !== null) ?? [];
  return name ?? "a function";
}
