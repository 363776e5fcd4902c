/**
 * CodeBLEU's third and fourth components, as PPOCoder adds them to the reward: the share of the reference's syntax trees that the candidate has, and
 * of its edges of data flow. Trees are those of Python's own `ast`, in the box, in place of tree-sitter's: one language, and no package. Leaves are
 * left out, as in CodeBLEU, which counts inner nodes; a candidate that does not parse matches nothing.
 */
export const matchProgram = `
import ast
def trees(text):
    word = (ast.expr_context, ast.operator, ast.unaryop, ast.boolop, ast.cmpop)
    inner = lambda node: any(not isinstance(each, word) for each in ast.iter_child_nodes(node))
    return [ast.dump(node) for node in ast.walk(ast.parse(text)) if inner(node)]

def flow(text):
    edges, last, names = [], {}, {}
    def named(name):
        return names.setdefault(name, "v%d" % len(names))
    def visit(node):
        if isinstance(node, (ast.Assign, ast.AugAssign)):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            read = [each.id for each in ast.walk(node.value) if isinstance(each, ast.Name)]
            if isinstance(node, ast.AugAssign): read.append(node.target.id)
            for target in targets:
                for each in ast.walk(target):
                    if not isinstance(each, ast.Name): continue
                    for source in read: edges.append((named(each.id), named(source)))
            return
        if isinstance(node, ast.Name): edges.append((named(node.id), named(node.id)))
        for child in ast.iter_child_nodes(node): visit(child)
    visit(ast.parse(text))
    return edges

def share(mine, wanted):
    left, found = list(mine), 0
    for each in wanted:
        if each in left:
            left.remove(each)
            found += 1
    return found / len(wanted) if wanted else 1.0

def match(candidate, reference):
    try:
        return [share(trees(candidate), trees(reference)), share(flow(candidate), flow(reference))]
    except (SyntaxError, ValueError, RecursionError):
        return [0, 0]
`;

/** The expression that compares two texts; they are data there, and never run. */
export function matchExpression(candidate: string, reference: string): string {
  return `match(${JSON.stringify(candidate)}, ${JSON.stringify(reference)})`;
}
