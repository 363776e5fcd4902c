import { bounds } from "../bounds.ts";
import { huggingFaceJinja, type TemplateEnvironment, type TemplateNode, type TemplateValue } from "./huggingface.ts";
import { checkTemplateSize, type JsonStyle, pythonJson, pythonString, TemplateTooCostly } from "./python-text.ts";

/**
 * Runs a parsed template as transformers' Jinja does, where the package does not: values are written as Python writes them
 * (`{{ }}`, `~`, the filters `string` and `tojson`), and `strip`, `lstrip` and `rstrip` heed their argument, which Qwen 3's
 * template relies on.
 */
export class ChatInterpreter extends huggingFaceJinja.Interpreter {
  readonly #written: ReadonlySet<unknown>;
  readonly #iterated: ReadonlySet<unknown>;
  readonly #onComment: (text: string) => void;
  #steps = 0;

  constructor(program: TemplateNode, environment: TemplateEnvironment, onComment: (text: string) => void = () => {}) {
    super(environment);
    const { written, iterated } = expressionsOf(program);
    this.#written = written;
    this.#iterated = iterated;
    this.#onComment = onComment;
  }

  override evaluate(node: TemplateNode | undefined, environment: TemplateEnvironment): TemplateValue {
    if (node?.type === "Comment") this.#onComment(String(node.value));
    const own = node === undefined ? undefined : this.#evaluateOwn(node, environment);
    const value = own ?? super.evaluate(node, environment);
    this.#count(node, value);
    return this.#written.has(node) && value.type !== "FunctionValue" ? stringValue(pythonString(value)) : value;
  }

  /** Templates are programs of strangers: what they do and what they hold has an end. */
  #count(node: TemplateNode | undefined, { type, value }: TemplateValue): void {
    const size = type === "StringValue" ? String(value).length : Array.isArray(value) ? value.length : 0;
    const isMany = this.#iterated.has(node) || node?.type === "FilterExpression" || node?.type === "CallExpression";
    this.#steps += Array.isArray(value) && isMany ? 1 + loopCost * size : 1;
    if (this.#steps > bounds.templateSteps) throw new TemplateTooCostly(`more than ${bounds.templateSteps} steps`);
    checkTemplateSize(size);
  }

  #evaluateOwn(node: TemplateNode, environment: TemplateEnvironment): TemplateValue | undefined {
    const evaluate = (field: unknown) => this.evaluate(field as TemplateNode, environment);
    if (node.type === "BinaryExpression" && (node.operator as { value: string }).value === "~") {
      return stringValue(pythonString(evaluate(node.left)) + pythonString(evaluate(node.right)));
    }
    if (node.type === "FilterExpression") {
      const filter = node.filter as TemplateNode;
      const name = filter.type === "CallExpression" ? (filter.callee as TemplateNode).value : filter.value;
      if (name === "indent") checkWidths(filter, evaluate);
      if (name === "string") return stringValue(pythonString(evaluate(node.operand)));
      if (name === "tojson") return stringValue(pythonJson(evaluate(node.operand), jsonStyle(filter, evaluate)));
    }
    if (node.type === "CallExpression") return strip(node, evaluate);
    return undefined;
  }
}

/** A turn of a loop makes a scope and a dozen values. */
const loopCost = 4;
const maxIndent = 256;

function checkWidths(filter: TemplateNode, evaluate: (node: unknown) => TemplateValue): void {
  for (const argument of filter.type === "CallExpression" ? (filter.args as TemplateNode[]) : []) {
    checkIndent(evaluate(argument.type === "KeywordArgumentExpression" ? argument.value : argument).value);
  }
}

function checkIndent(width: unknown): void {
  if (typeof width === "number" && width > maxIndent) throw new TemplateTooCostly(`an indentation of ${width}`);
}

function strip(node: TemplateNode, evaluate: (node: unknown) => TemplateValue): TemplateValue | undefined {
  const callee = node.callee as TemplateNode;
  const method = callee.type === "MemberExpression" ? (callee.property as TemplateNode).value : undefined;
  const [argument, ...more] = node.args as TemplateNode[];
  if (argument === undefined || more.length > 0) return undefined;
  if (method !== "strip" && method !== "lstrip" && method !== "rstrip") return undefined;
  const text = evaluate(callee.object);
  const characters = evaluate(argument);
  if (text.type !== "StringValue" || characters.type !== "StringValue") return undefined;
  const letters = Array.from(text.value as string);
  const unwanted = new Set(characters.value as string);
  let [start, end] = [0, letters.length];
  while (method !== "rstrip" && start < end && unwanted.has(letters[start])) start++;
  while (method !== "lstrip" && end > start && unwanted.has(letters[end - 1])) end--;
  return stringValue(letters.slice(start, end).join(""));
}

function jsonStyle(filter: TemplateNode, evaluate: (node: unknown) => TemplateValue): JsonStyle {
  if (filter.type !== "CallExpression") return {};
  const named = new Map<unknown, TemplateValue>();
  for (const argument of filter.args as TemplateNode[]) {
    if (argument.type !== "KeywordArgumentExpression")
      throw new TypeError("tojson takes its options by name, as indent=4");
    named.set((argument.key as TemplateNode).value, evaluate(argument.value));
  }
  checkIndent(named.get("indent")?.value);
  const separators = named.get("separators")?.value as readonly [TemplateValue, TemplateValue] | null | undefined;
  return {
    indent: (named.get("indent")?.value as number | null | undefined) ?? undefined,
    ensureAscii: named.get("ensure_ascii")?.value === true,
    sortKeys: named.get("sort_keys")?.value === true,
    separators: separators ? [pythonString(separators[0]), pythonString(separators[1])] : undefined,
  };
}

// the package does not export its value classes, but an environment makes them
function stringValue(text: string): TemplateValue {
  return new huggingFaceJinja.Environment().set("text", text);
}

const statementTypes = [
  "If",
  "For",
  "Set",
  "Macro",
  "CallStatement",
  "FilterStatement",
  "Break",
  "Continue",
  "Comment",
];

interface Expressions {
  readonly written: ReadonlySet<unknown>;
  readonly iterated: ReadonlySet<unknown>;
}

/** A program is run for every prompt, and looked through once. */
const expressions = new WeakMap<TemplateNode, Expressions>();

function expressionsOf(program: TemplateNode): Expressions {
  const known = expressions.get(program);
  if (known !== undefined) return known;
  const found = { written: writtenExpressions(program), iterated: iteratedExpressions(program) };
  expressions.set(program, found);
  return found;
}

/** What loops go through. */
function iteratedExpressions(node: unknown, found = new Set<unknown>()): Set<unknown> {
  if (Array.isArray(node)) for (const each of node) iteratedExpressions(each, found);
  else if (typeof node === "object" && node !== null) {
    const { type, iterable } = node as { type?: string; iterable?: TemplateNode };
    if (type === "For") found.add(iterable?.type === "SelectExpression" ? iterable.lhs : iterable);
    for (const field of Object.values(node)) iteratedExpressions(field, found);
  }
  return found;
}

/** The expressions whose value goes into the text: those that stand where a statement could. */
function writtenExpressions(node: TemplateNode, found = new Set<unknown>()): Set<unknown> {
  for (const field of ["body", "alternate", "defaultBlock"]) {
    const statements = node[field];
    if (!Array.isArray(statements)) continue;
    for (const statement of statements as TemplateNode[]) {
      if (!statementTypes.includes(statement.type)) found.add(statement);
      else writtenExpressions(statement, found);
    }
  }
  return found;
}
