import type { Trajectory, Turn } from "../../schema/index.ts";

/** Fields of a trajectory that try to run scripts in a page that shows them, to disguise text, or to exhaust the page. */
export function hostileFields(): Partial<Trajectory> {
  const script =
    '<script>window.hacked = 1</script><img src=x onerror="window.hacked = 2"><svg onload="window.hacked=3">';
  const text = `${script} javascript:window.hacked=4 \u202eright to left\u202c مرحبا بالعالم 👩‍👩‍👧‍👦🏳️‍🌈 \u0000\u0007 {{7*7}} \${window.hacked=5}`;
  const call = {
    name: script,
    arguments: { query: text, __proto__: null },
    outcome: "error",
    observation: text,
  } as const;
  const T = 20_000;
  const turn = (span: Turn["span"], said: string): Turn => ({
    span,
    text: said,
    calls: [call],
    reward: 0.5,
    observation: text,
  });
  const mask_T = new Uint8Array(T).fill(1, 10, 9000).fill(1, 9010);
  return {
    taskId: script,
    role: script,
    stop: "tool-crash",
    failure: `${text} ${"long ".repeat(100_000)}`,
    tokens_T: Int32Array.from({ length: T }, (_, i) => 32 + (i % 90)),
    mask_T,
    logprobs_T: Float32Array.from(mask_T, (mask) => -mask),
    versions_T: Int32Array.from(mask_T, (mask) => mask - 1),
    turns: [turn({ start: 10, end: 9000 }, text), turn({ start: 9010, end: T }, `huge ${"x".repeat(3_000_000)}`)],
    score: { total: 1, parts: { [script]: 1 }, success: true },
  };
}
