import { expect, test } from "vitest";
import { decodeEntities } from "./html-entities.ts";

test("known and numbered entities are decoded, others stay", () => {
  expect(decodeEntities("a &amp; b &lt;c&gt; &#39;d&#x27; &quot;&nbsp;")).toBe("a & b <c> 'd' \"\u00a0");
  expect(decodeEntities("&bogus; & &#9999999; &amp")).toBe("&bogus; & &#9999999; &amp");
  // once only
  expect(decodeEntities("&amp;lt;")).toBe("&lt;");
});
