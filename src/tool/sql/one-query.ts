const queries = ["select", "with", "values"];

/**
 * Why a text is not one query, or undefined where it is. Everything that reads or writes outside of the database (ATTACH, VACUUM INTO)
 * or changes how the connection works (PRAGMA) is a statement of its own, so that queries alone cannot do it.
 */
export function notOneQuery(sql: string): string | undefined {
  const code = withoutTexts(sql);
  if (code === undefined) return "a text or a comment that does not end";
  const statements = code.split(";").filter((statement) => statement.trim() !== "");
  if (statements.length !== 1) return `${statements.length} statements instead of one query`;
  const word = /^[\s(]*([a-z]+)/i.exec(statements[0])?.[1].toLowerCase() ?? "";
  return queries.includes(word) ? undefined : `a statement that is not SELECT, WITH or VALUES`;
}

/** Comments as spaces, texts and quoted names as `x`; undefined where one of them does not end. */
function withoutTexts(sql: string): string | undefined {
  const parts: string[] = [];
  for (let at = 0; at < sql.length; ) {
    const opening = openings.find(({ opens }) => sql.startsWith(opens, at));
    if (opening === undefined) {
      parts.push(sql[at++]);
      continue;
    }
    const end = sql.indexOf(opening.closes, at + opening.opens.length);
    // a comment of a line ends with the text too
    if (end === -1 && opening.closes !== "\n") return undefined;
    parts.push(opening.stands);
    at = end === -1 ? sql.length : end + opening.closes.length;
  }
  return parts.join("");
}

// a doubled quote inside of a text reads as the next text
const openings = [
  { opens: "--", closes: "\n", stands: " " },
  { opens: "/*", closes: "*/", stands: " " },
  { opens: "'", closes: "'", stands: "x" },
  { opens: '"', closes: '"', stands: "x" },
  { opens: "`", closes: "`", stands: "x" },
  { opens: "[", closes: "]", stands: "x" },
];
