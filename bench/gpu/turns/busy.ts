import { spawn } from "node:child_process";

/** The mean share of time in which a kernel was running on the GPU, as its driver reports it, while `work` goes on. */
export async function busyWhile(work: () => Promise<void>): Promise<number | undefined> {
  const args = ["--query-gpu=utilization.gpu", "--format=csv,noheader,nounits", "-lms", "50"];
  const child = spawn("nvidia-smi", args, { stdio: ["ignore", "pipe", "ignore"] });
  const seen: { at: number; share: number }[] = [];
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    for (const line of text.trim().split("\n")) {
      const share = Number.parseFloat(line) / 100;
      if (Number.isFinite(share)) seen.push({ at: performance.now(), share });
    }
  });
  const isGone = new Promise<void>((resolve) => child.on("close", () => resolve()).on("error", () => resolve()));
  const from = performance.now();
  try {
    await work();
  } finally {
    child.kill();
    await isGone;
  }
  // a reading is about the last third of a second or so: the first ones are about what was before
  const during = seen.filter(({ at }) => at > from + 400).map(({ share }) => share);
  return during.length === 0 ? undefined : during.reduce((sum, share) => sum + share, 0) / during.length;
}
