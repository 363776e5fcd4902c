// With real containers: apt-get install podman runc catatonit busybox-static, then npm run test:slow -- container-sandbox
import { execFileSync } from "node:child_process";
import { chmodSync, copyFileSync, existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe } from "vitest";
import { containerSandbox } from "./container-sandbox.ts";
import { sandboxContract } from "./sandbox.contract.ts";

const [podman, busybox] = ["/usr/bin/podman", "/bin/busybox"];
const isThere = existsSync(podman) && existsSync(busybox) && existsSync("/usr/sbin/runc");
if (!isThere) process.stderr.write("containers are left out: apt-get install podman runc catatonit busybox-static\n");

describe.skipIf(!isThere)("podman and runc", () => {
  const folder = mkdtempSync(join(tmpdir(), "ludus-containers-"));
  const [rootfs, boxes] = [join(folder, "root"), join(folder, "boxes")];
  beforeAll(() => {
    chmodSync(folder, 0o755);
    for (const path of ["bin", "tmp", "box", "proc", "sys", "dev", "etc", "run"])
      mkdirSync(join(rootfs, path), { recursive: true });
    mkdirSync(boxes);
    chmodSync(boxes, 0o755);
    copyFileSync(busybox, join(rootfs, "bin/busybox"));
    execFileSync("chroot", [rootfs, "/bin/busybox", "--install", "-s", "/bin"]);
  });
  afterAll(() => rmSync(folder, { recursive: true, force: true }));
  const containers = () =>
    execFileSync(podman, ["ps", "--all", "--format", "{{.Names}}"], { encoding: "utf8" })
      .split("\n")
      .filter((name) => name.startsWith("ludus-"));
  sandboxContract(
    "podman",
    () => containerSandbox({ program: podman, programArgs: ["--runtime", "runc"], rootfs, folder: boxes }),
    { leftovers: () => [...readdirSync(boxes), ...containers()], boxes: 4 },
  );
});
