import { expect, test } from "vitest";
import { changeExpected } from "./changed-tests.ts";
import { withChanged } from "./mine-repository.ts";

const change = (line: string) => changeExpected(line, () => 2);

test.each([
  ["    assert add(2, 3) == 5", "    assert add(2, 3) == 7"],
  ["    assert add(2, 3) == -5  # because", "    assert add(2, 3) == -3  # because"],
  ['    assert name(1) == "ab"', '    assert name(1) == "abc"'],
  ["    assert both(1) == [1, 2]", "    assert both(1) == [1, 4]"],
  ["        self.assertEqual(f(1, 2), 3)", "        self.assertEqual(f(1, 2), 5)"],
  ["  assert.strictEqual(f(1), 3);", "  assert.strictEqual(f(1), 5);"],
  ["  assert.deepStrictEqual(f(1), { a: 3 })", "  assert.deepStrictEqual(f(1), { a: 5 })"],
])("%s", (line, wanted) => {
  expect(change(line)).toBe(wanted);
});

test.each([
  "    assert add(2, 3) == five",
  "    assert add(2, 3) >= 5",
  "    assert add(2, 3) != 5",
  "        self.assertEqual(3, f(1))",
  "        self.assertEqual(5, f(1, 2))",
  "        self.assertTrue(f(1, 2))",
  "    value = add(2, 3) == 5",
  "  assert.ok(f(1, 3));",
  "    assert both(1) == []",
])("is left as it is, where what is expected is not written out last: %s", (line) => {
  expect(change(line)).toBe(line);
});

test("every line is changed by a number of its own", () => {
  let next = 0;
  const source = "def test_one():\n    assert f(1) == 1\n    assert f(2) == 1\n";
  expect(
    changeExpected(source, () => {
      next += 1;
      return next;
    }),
  ).toBe("def test_one():\n    assert f(1) == 2\n    assert f(2) == 3\n");
});

test("what several files expect is the same in all of them, so that code which reads it there passes, and is not paid", () => {
  const changed = withChanged({
    "test_plain.py": "def test_one():\n    assert f(1) == 4\n",
    "test_unit.py": "class T:\n    def test_one(self):\n        self.assertEqual(f(1), 4)\n",
  });
  const [plain, unit] = Object.values(changed).map((text) => Number(/(\d+)\)?\n$/.exec(text)![1]));
  expect(plain).toBeGreaterThan(4);
  expect(unit).toBe(plain);
});
