import { type Node, SyntaxKind } from "typescript/unstable/ast";
import {
  isClassDeclaration,
  isConstructorDeclaration,
  isExpressionWithTypeArguments,
  isFunctionDeclaration,
  isMethodDeclaration,
  isPrivateIdentifier,
  isPropertyDeclaration,
  isTypeReferenceNode,
  isVariableDeclaration,
} from "typescript/unstable/ast/is";

/** Longer values of constants are left to the source. */
const maxValueLines = 14;

/** Declarations of one name as they are written, without `export`, bodies and what is private. */
export function codeOf(nodes: readonly Node[], typeOf: (node: Node) => string): string {
  // of a function with overloads the last one, which has the body, is not to be called
  const shown = nodes.length > 1 && nodes.every(isFunctionDeclaration) ? nodes.filter((node) => !bodyOf(node)) : nodes;
  return shown.map((node) => declaration(node, typeOf)).join("\n");
}

function declaration(node: Node, typeOf: (node: Node) => string): string {
  if (isVariableDeclaration(node)) return constant(node, typeOf);
  if (isClassDeclaration(node)) return classText(node);
  if (isFunctionDeclaration(node)) return plain(withoutBody(node));
  return plain(node.getText());
}

const plain = (text: string) => text.replace(/^(export |declare |async )+/, "").trimEnd();

function bodyOf(node: Node): Node | undefined {
  return "body" in node ? (node.body as Node | undefined) : undefined;
}

function withoutBody(node: Node): string {
  const body = bodyOf(node);
  const start = node.getStart();
  const text = node.getText();
  return (body === undefined ? text : text.slice(0, body.getStart() - start)).trimEnd();
}

function constant(
  node: Node & { name: Node; type?: Node; initializer?: Node },
  typeOf: (node: Node) => string,
): string {
  const whole = `const ${node.getText()}`;
  if (whole.split("\n").length <= maxValueLines && !whole.includes("=>")) return whole;
  const type = node.type?.getText() ?? spreadOut(typeOf(node.name));
  return `const ${node.name.getText()}: ${type}`;
}

/** An inferred type: members of an object on lines of their own, long texts as what they are. */
function spreadOut(type: string): string {
  if (type.startsWith('"')) return "string";
  if (!type.startsWith("{ ") || type.length < 100) return type;
  let depth = 0;
  const lines = Array.from(type.slice(2, -2), (character) => {
    if ("{([<".includes(character)) depth++;
    if ("})]".includes(character)) depth--;
    return character === ";" && depth === 0 ? ";\n" : character;
  });
  return `{\n${lines
    .join("")
    .replace(/^ ?(?=\S)/gm, "  ")
    .trimEnd()}\n}`;
}

function classText(node: Node & { members: readonly Node[] }): string {
  const text = node.getText();
  const head = text.slice(0, text.indexOf("{") + 1);
  const members = node.members.flatMap(memberText);
  return plain(`${head}\n${members.join("\n")}\n}`);
}

function memberText(member: Node): string[] {
  const isKnown = isMethodDeclaration(member) || isConstructorDeclaration(member) || isPropertyDeclaration(member);
  const name = "name" in member ? (member.name as Node | undefined) : undefined;
  const text = plain(isPropertyDeclaration(member) ? member.getText() : withoutBody(member));
  const isHidden = (name !== undefined && isPrivateIdentifier(name)) || /^(private|protected|override) /.test(text);
  if (isHidden || (!isKnown && member.kind !== SyntaxKind.GetAccessor)) return [];
  const comments = (member.jsDoc ?? []).map((comment) => `  ${comment.getText()}`);
  return [...comments, `  ${text}${text.endsWith(";") ? "" : ";"}`];
}

/** The names of types in a declaration, bodies left out. */
export function typeNamesIn(node: Node): Node[] {
  const names: Node[] = [];
  const body = bodyOf(node);
  const visit = (child: Node): void => {
    if (child === body || isPrivate(child)) return;
    if (isTypeReferenceNode(child)) names.push(child.typeName);
    else if (isExpressionWithTypeArguments(child)) names.push(child.expression);
    if (isVariableDeclaration(child)) {
      if (child.type) visit(child.type);
      return;
    }
    const inner = bodyOf(child);
    child.forEachChild((each) => {
      if (each !== inner) visit(each);
      return undefined;
    });
  };
  visit(node);
  return names;
}

function isPrivate(node: Node): boolean {
  return "name" in node && node.name !== undefined && isPrivateIdentifier(node.name as Node);
}
