import { existsSync, lstatSync, readlinkSync } from "node:fs";
import { chmod, chown } from "node:fs/promises";
import { text } from "node:stream/consumers";
import { LudusError } from "../../errors.ts";
import { type ProcessGroup, spawnGroup } from "./process-group.ts";
import { runProcess } from "./run-process.ts";

/** Where commands see the box's files and their temporary ones. */
export const boxRoot = "/box";
export const boxTemporary = "/tmp";
/** Numbers of the box's user, for its commands. */
const insideId = 1000;

const tools = { PATH: "/usr/sbin:/usr/bin:/sbin:/bin" };

export interface MountSettings {
  /** Files to begin with; they lie below those of the box. */
  readonly image: string | undefined;
  /** Who runs commands, where this program is root. */
  readonly uid: number;
  readonly diskMb: number;
  /** Paths of this machine that commands may read, by the path at which they see them. */
  readonly readable: Readonly<Record<string, string>>;
}

/** A mount namespace with a file system of limited size, held by a small shell that never runs anything of the box. */
export interface HeldMount {
  /** Paths of its files for this program. */
  readonly files: string;
  readonly readable: MountSettings["readable"];
  readonly owner?: { readonly uid: number; readonly gid: number };
  /** What to put before a command that is to see the file system, and to run as the box's user. */
  readonly enter: readonly string[];
  /** Arguments of `bwrap` for what commands may see. */
  readonly view: readonly string[];
  copyTo(folder: string): Promise<void>;
  close(): Promise<void>;
}

// private, so that nothing of it shows elsewhere; it ends with its input, however this program ends
const holdScript = `set -e
at=$1 image=$4 options=$5 count=0
mount -t tmpfs -o "size=$2m,nr_inodes=$3,mode=755,nosuid,nodev" ludus "$at"
cd "$at"
mkdir files tmp etc
printf 'box:x:${insideId}:${insideId}::${boxRoot}:/bin/sh\\n' > etc/passwd
printf 'box:x:${insideId}:\\n' > etc/group
printf '127.0.0.1 localhost\\n::1 localhost\\n' > etc/hosts
if [ -n "$image" ]; then
  mkdir image upper work
  mount --bind "$image" image
  mount -t overlay -o "lowerdir=image,upperdir=upper,workdir=work,nosuid,nodev$options" ludus files
fi
shift 5
for path; do
  if [ -d "$path" ]; then mkdir "r$count"; else : > "r$count"; fi
  mount --bind "$path" "r$count"
  count=$((count + 1))
done
echo held
read -r _ || true`;

const startMs = 30_000;

/** A file of 4 KiB for each inode would fill the disk; small ones are common. */
const inodesPerMb = 256;

export const isRoot = (): boolean => process.getuid?.() === 0;

export async function holdMount({ image, uid, diskMb, readable }: MountSettings): Promise<HeldMount> {
  const user = isRoot() ? [] : ["--user", "--map-root-user"];
  const userxattr = isRoot() ? "" : ",userxattr";
  const shown = Object.values(readable);
  const at = mountPoint([...shown, ...(image === undefined ? [] : [image])]);
  const script = ["/bin/sh", "-c", holdScript, "ludus-box", at, `${diskMb}`, `${diskMb * inodesPerMb}`];
  const group = spawnGroup(
    "unshare",
    [...user, "--mount", "--propagation", "private", "--", ...script, image ?? "", userxattr, ...shown],
    { env: tools, cwd: "/", stdio: "pipe" },
  );
  await whenHeld(group);
  const close = async () => {
    group.kill();
    await group.ended;
  };
  const { pid } = group.child;
  const files = `/proc/${pid}/root${at}/files`;
  const namespaces = [`--mount=/proc/${pid}/ns/mnt`];
  if (!isRoot()) namespaces.push(`--user=/proc/${pid}/ns/user`, "--preserve-credentials");
  try {
    await chmod(`/proc/${pid}/root${at}/tmp`, 0o1777);
    if (isRoot()) await chown(files, uid, uid);
  } catch (error) {
    await close();
    throw error;
  }
  const enter = ["nsenter", ...namespaces, "--"];
  return {
    files,
    readable,
    enter: [...enter, ...dropTo(uid)],
    view: viewOf(at, Object.keys(readable)),
    copyTo: (folder) => copyTree(enter, `${at}/files`, folder),
    close,
    ...(isRoot() && { owner: { uid, gid: uid } }),
  };
}

/** A folder that every user can reach, in which nothing lies that is needed. It is covered in the namespace of the box alone. */
function mountPoint(needed: readonly string[]): string {
  const free = ["/mnt", "/media", "/srv", "/opt"].find(
    (folder) => existsSync(folder) && !needed.some((path) => path === folder || path.startsWith(`${folder}/`)),
  );
  if (free !== undefined) return free;
  throw new LudusError("box-not-opened", {
    got: "a machine without a free folder to mount on",
    expected: "one of /mnt, /media, /srv, /opt",
  });
}

/** Never `bwrap` as root: files of /proc/sys could be written then. */
export function dropTo(uid: number): readonly string[] {
  return isRoot() ? ["setpriv", `--reuid=${uid}`, `--regid=${uid}`, "--clear-groups", "--inh-caps=-all", "--"] : [];
}

async function whenHeld(group: ProcessGroup): Promise<void> {
  const { stdout, stderr } = group.child;
  const said = stderr === null ? Promise.resolve("") : text(stderr).catch(() => "");
  const timer = setTimeout(() => group.kill(), startMs); // it also keeps this program waiting
  const isHeld = await new Promise<boolean>((resolve) => {
    stdout?.once("data", () => resolve(true));
    void group.ended.then(() => resolve(false));
  });
  clearTimeout(timer);
  if (isHeld) return;
  const end = await group.ended;
  throw new LudusError("box-not-opened", {
    got: end.kind === "not-started" ? end.message : (await said).trim() || `a mount that ended with ${end.code}`,
    expected: "a mount namespace with a file system of its own",
    hint: "In a container, give it the right to make namespaces (CAP_SYS_ADMIN, or user namespaces).",
  });
}

/** Nothing runs in the box meanwhile, so that no name changes under the copy. */
async function copyTree(enter: readonly string[], from: string, to: string): Promise<void> {
  const [command, ...args] = [...enter, "cp", "--archive", "--reflink=auto", from, to];
  const limits = { timeoutMs: 120_000 };
  const ended = await runProcess({ command: command!, args, env: tools, cwd: "/", limits });
  if (ended.kind === "exited" && ended.code === 0) return;
  throw new LudusError("box-not-copied", {
    got: ended.stderr.slice(0, 500) || ended.kind,
    expected: "a copy of its files",
  });
}

function viewOf(at: string, shownAt: readonly string[]): string[] {
  return [
    ...["--bind", `${at}/files`, boxRoot, "--bind", `${at}/tmp`, boxTemporary],
    ...["passwd", "group", "hosts"].flatMap((name) => ["--ro-bind", `${at}/etc/${name}`, `/etc/${name}`]),
    ...shownAt.flatMap((path, index) => ["--ro-bind", `${at}/r${index}`, path]),
  ];
}

let system: readonly string[] | undefined;

/** The programs and libraries of this machine, to be read only. No settings, keys, logs or homes. */
export function systemView(): readonly string[] {
  if (system !== undefined) return system;
  const args: string[] = ["--ro-bind", "/usr", "/usr"];
  for (const path of ["/bin", "/sbin", "/lib", "/lib32", "/lib64"]) {
    if (!existsSync(path)) continue;
    if (lstatSync(path).isSymbolicLink()) args.push("--symlink", readlinkSync(path), path);
    else args.push("--ro-bind", path, path);
  }
  for (const path of ["/etc/alternatives", "/etc/ld.so.cache"]) args.push("--ro-bind-try", path, path);
  system = args;
  return system;
}

export const insideUser: readonly string[] = ["--unshare-user", "--uid", `${insideId}`, "--gid", `${insideId}`];
