/** One attempt at a task, token by token. */
export interface Attempt {
  readonly texts: readonly string[];
  readonly mask: readonly number[];
  readonly logprobs: readonly number[];
  readonly reward: number;
  readonly success: boolean;
  readonly stop: string;
  /** The same for all its sampled tokens. */
  readonly advantage: number;
}

const style = `text { font-family: system-ui, -apple-system, "Segoe UI", "DejaVu Sans", sans-serif; font-size: 12px; fill: #0f172a; }
.token { font-family: ui-monospace, Menlo, Consolas, "DejaVu Sans Mono", monospace; }
.note { fill: #475569; } .over { paint-order: stroke; stroke: #f8fafc; stroke-width: 4px; } .small { font-size: 11px; } .end { text-anchor: end; } .mid { text-anchor: middle; }`;

function svg(width: number, height: number, label: string, body: readonly string[]): string {
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" role="img" aria-label="${escapeXml(label)}">
<style>${style}</style>
<rect width="${width}" height="${height}" rx="10" fill="#f8fafc"/>
${body.join("\n")}
</svg>
`;
}

const width = 900;
const left = 24;

/** Every token of an attempt: what was read is grey, what was sampled is blue, with mask and log-probability. */
export function tokensFigure({ texts, mask, logprobs }: Attempt): string {
  const row = { height: 74 };
  const places = layout(texts, width - 2 * left - 76, 9, 30);
  const body = places.flatMap(({ x, line, width: w }, t) => {
    const [px, py] = [left + 76 + x, 44 + line * row.height];
    const isSampled = mask[t] === 1;
    const [fill, stroke] = isSampled ? ["#dbeafe", "#1d4ed8"] : ["#e2e8f0", "#94a3b8"];
    const logprob = isSampled ? (logprobs[t] > -0.005 ? "0" : logprobs[t].toFixed(1)) : "";
    return [
      `<rect x="${px}" y="${py}" width="${w}" height="24" rx="4" fill="${fill}" stroke="${stroke}"/>`,
      `<text class="token mid" x="${px + w / 2}" y="${py + 16}">${escapeXml(visible(texts[t]))}</text>`,
      `<text class="small note mid" x="${px + w / 2}" y="${py + 38}">${mask[t]}</text>`,
      `<text class="small note mid" x="${px + w / 2}" y="${py + 53}">${logprob}</text>`,
    ];
  });
  const lines = (places.at(-1)?.line ?? 0) + 1;
  const labels = Array.from({ length: lines }, (_, line) => {
    const y = 44 + line * row.height;
    const label = (text: string, down: number) => `<text class="small note" x="${left}" y="${y + down}">${text}</text>`;
    return [label("token", 16), label("mask", 38), label("log prob", 53)].join("");
  });
  const key = [
    box(left + 76, 14, "#e2e8f0", "#94a3b8"),
    `<text class="small" x="${left + 98}" y="25">read: prompt, tool results, separators</text>`,
    box(left + 340, 14, "#dbeafe", "#1d4ed8"),
    `<text class="small" x="${left + 362}" y="25">sampled by the policy: what is learned from</text>`,
  ];
  return svg(width, 44 + lines * row.height, "A trajectory, token by token", [...key, ...labels, ...body]);
}

/** Attempts at one task: what was sampled, coloured by advantage, with rewards. What was read has no colour. */
export function groupFigure(attempts: readonly Attempt[]): string {
  const sorted = attempts.toSorted((a, b) => b.reward - a.reward);
  const strip = width - 2 * left - 190;
  const longest = Math.max(...sorted.map(({ texts }) => texts.length));
  const cell = Math.min(16, strip / longest);
  const mean = sorted.reduce((sum, { reward }) => sum + reward, 0) / sorted.length;
  const rows = sorted.flatMap(({ mask, reward, advantage }, i) => {
    const y = 52 + i * 28;
    const colour = advantage > 0 ? "#16a34a" : advantage < 0 ? "#dc2626" : "#94a3b8";
    const cells = mask.map((m, t) => {
      const fill = m === 1 ? colour : "#e2e8f0";
      return `<rect x="${(left + 190 + t * cell).toFixed(1)}" y="${y}" width="${(cell - 1).toFixed(1)}" height="18" fill="${fill}"/>`;
    });
    const sign = advantage > 0 ? "+" : "";
    return [
      `<text x="${left}" y="${y + 13}">attempt ${i + 1}</text>`,
      `<text class="end" x="${left + 100}" y="${y + 13}">${reward}</text>`,
      `<text class="end" x="${left + 170}" y="${y + 13}" style="fill:${colour}">${sign}${advantage.toFixed(2)}</text>`,
      ...cells,
    ];
  });
  const bottom = 52 + sorted.length * 28;
  const head = [
    `<text class="small note end" x="${left + 100}" y="34">reward</text>`,
    `<text class="small note end" x="${left + 170}" y="34">advantage</text>`,
    `<text class="small note" x="${left + 190}" y="34">tokens: green are made likelier, red less likely, grey were read and are left alone</text>`,
    `<text class="small note" x="${left}" y="${bottom + 14}">mean reward ${mean.toFixed(3)}; advantage = (reward - mean) / standard deviation</text>`,
  ];
  return svg(width, bottom + 30, "A group of attempts and their advantages", [...head, ...rows]);
}

/** Success of each step's rollouts, and of evaluations on tasks that were kept. */
export function curveFigure(
  points: readonly { step: number; value: number }[],
  evaluations: readonly { step: number; success: number }[],
): string {
  const area = { x: 56, y: 20, width: width - 96, height: 200 };
  const steps = points.map(({ step }) => step);
  const [from, to] = [Math.min(...steps), Math.max(...steps)];
  const px = (step: number) => area.x + (area.width * (step - from)) / Math.max(1, to - from);
  const py = (value: number) => area.y + area.height * (1 - value);
  const path = points.map(
    ({ step, value }, i) => `${i === 0 ? "M" : "L"}${px(step).toFixed(1)} ${py(value).toFixed(1)}`,
  );
  const grid = [0, 0.25, 0.5, 0.75, 1].map(
    (value) =>
      `<path d="M${area.x} ${py(value)} H${area.x + area.width}" stroke="#cbd5e1"/><text class="small note end" x="${area.x - 8}" y="${py(value) + 4}">${value}</text>`,
  );
  const marks = evaluations.map(({ step, success }) => {
    const x = px(Math.min(to, Math.max(from, step)));
    const isLate = x > area.x + area.width / 2;
    return `<circle cx="${x.toFixed(1)}" cy="${py(success).toFixed(1)}" r="5" fill="#b45309"/><text class="small over${isLate ? " end" : ""}" x="${(x + (isLate ? -9 : 9)).toFixed(1)}" y="${(py(success) + (isLate ? 16 : -8)).toFixed(1)}">kept tasks: ${success.toFixed(2)}</text>`;
  });
  const foot = `<text class="small note mid" x="${area.x + area.width / 2}" y="${area.y + area.height + 24}">steps of learning from experience, ${to - from + 1} in all; the line is the share of each step's own attempts that succeeded</text>`;
  const line = `<path d="${path.join(" ")}" fill="none" stroke="#1d4ed8" stroke-width="2"/>`;
  return svg(width, area.y + area.height + 40, "Success over the run", [...grid, line, ...marks, foot]);
}

/** Tokens as boxes in lines, as wide as their texts. */
function layout(texts: readonly string[], room: number, perCharacter: number, least: number) {
  let x = 0;
  let line = 0;
  return texts.map((text) => {
    const w = Math.max(least, visible(text).length * perCharacter + 10);
    if (x + w > room) {
      x = 0;
      line++;
    }
    const place = { x, line, width: w };
    x += w + 4;
    return place;
  });
}

const box = (x: number, y: number, fill: string, stroke: string) =>
  `<rect x="${x}" y="${y}" width="16" height="14" rx="3" fill="${fill}" stroke="${stroke}"/>`;

const visible = (text: string) => text.replaceAll("\n", "⏎").replaceAll(" ", "␣") || "·";

function escapeXml(text: string): string {
  return text.replace(/[<>&"]/g, (character) => `&#${character.charCodeAt(0)};`);
}
