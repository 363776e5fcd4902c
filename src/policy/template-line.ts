import { huggingFaceJinja, type TemplateNode, type TemplateToken } from "./huggingface.ts";

export const whitespaceRules = { lstrip_blocks: true, trim_blocks: true };

/**
 * The line on which a template fails, as near as a tag. The package keeps no positions, so the template is parsed and run
 * once more with the line of every tag put in front of it as a comment: the last comment seen is where it happened.
 */
export function failingLine(
  template: string,
  run: (program: TemplateNode, onComment: (text: string) => void) => void,
): number | undefined {
  const tokens = attempt(() => huggingFaceJinja.tokenize(template, whitespaceRules));
  if (tokens instanceof Error) return lexerLine(template, tokens.message);
  const marked = withLineComments(tokens, tagLines(template));
  if (marked === undefined) return undefined;
  let furthest = 0;
  const watched = new Proxy(marked, {
    get(target, key, receiver) {
      if (typeof key === "string" && /^\d+$/.test(key)) furthest = Math.max(furthest, Number(key));
      return Reflect.get(target, key, receiver);
    },
  });
  const program = attempt(() => huggingFaceJinja.parse(watched));
  if (program instanceof Error) {
    return lineOf(
      marked.slice(0, furthest + 1).findLast((token) => token.type === "Comment" && lineOf(token.value))?.value,
    );
  }
  let line: number | undefined;
  attempt(() => run(program, (comment) => (line = lineOf(comment) ?? line)));
  return line;
}

function attempt<Value>(action: () => Value): Value | Error {
  try {
    return action();
  } catch (error) {
    return error instanceof Error ? error : new Error(String(error));
  }
}

const linePrefix = "\u0000line ";

function lineOf(comment: string | undefined): number | undefined {
  return comment?.startsWith(linePrefix) ? Number(comment.slice(linePrefix.length)) : undefined;
}

function withLineComments(tokens: readonly TemplateToken[], lines: readonly number[]): TemplateToken[] | undefined {
  const isOpening = (token: TemplateToken) => token.type === "OpenStatement" || token.type === "OpenExpression";
  if (tokens.filter(isOpening).length !== lines.length) return undefined;
  let tag = 0;
  return tokens.flatMap((token) =>
    isOpening(token) ? [{ type: "Comment", value: linePrefix + lines[tag++] }, token] : [token],
  );
}

function tagLines(template: string): number[] {
  const inside = `(?:'(?:\\\\.|[^'\\\\])*'|"(?:\\\\.|[^"\\\\])*"|[^'"])*?`;
  // comments and transformers' generation tags never become tags; an unfinished tag still has its place
  const skipped = "\\{#[^]*?#\\}|\\{%-?\\s*(?:end)?generation\\s*-?%\\}";
  const tags = new RegExp(`${skipped}|(\\{%${inside}%\\}|\\{\\{${inside}\\}\\}|\\{[%{])`, "g");
  return [...template.matchAll(tags)]
    .filter((match) => match[1] !== undefined)
    .map((match) => template.slice(0, match.index).split("\n").length);
}

// the lexer reads from left to right: the shortest beginning that fails in the same way ends on the line
function lexerLine(template: string, message: string): number | undefined {
  const lines = template.split("\n");
  for (let count = 1; count <= lines.length; count++) {
    const beginning = `${lines.slice(0, count).join("\n")}\n`;
    const result = attempt(() => huggingFaceJinja.tokenize(beginning, whitespaceRules));
    if (result instanceof Error && result.message === message) return count;
  }
  return undefined;
}
