import { execFileSync } from "node:child_process";
import { existsSync, globSync } from "node:fs";
import { dirname, join } from "node:path";
import { expect, test } from "vitest";

// With the schemas of Compose and of Kubernetes, as the Python packages check-jsonschema and kubernetes-validate bring them.

const bin = dirname(process.env.LUDUS_DEPLOY_PYTHON ?? process.env.LUDUS_PYTHON ?? "");
const hasTools = existsSync(join(bin, "check-jsonschema")) && existsSync(join(bin, "kubernetes-validate"));
const check = (program: string, ...args: string[]) =>
  execFileSync(join(bin, program), args, { encoding: "utf8", stdio: "pipe" });

test.skipIf(!hasTools)("the compose file is one", () => {
  check("check-jsonschema", "--builtin-schema", "vendor.compose-spec", "deploy/compose.yaml");
  expect(() =>
    check("check-jsonschema", "--builtin-schema", "vendor.compose-spec", "deploy/kubernetes/workers.yaml"),
  ).toThrow();
});

test.skipIf(!hasTools)("manifests are what Kubernetes knows", () => {
  const files = globSync("deploy/kubernetes/*.yaml");
  expect(files).toHaveLength(4);
  check("kubernetes-validate", "--strict", ...files);
});
