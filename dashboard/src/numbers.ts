const units = [
  [1e12, "T"],
  [1e9, "G"],
  [1e6, "M"],
  [1e3, "k"],
] as const;

/** Three significant digits. `undefined` is a value that is absent, `null` one that JSON cannot hold. */
export function short(value: number | null | undefined): string {
  if (value === undefined) return "–";
  if (value === null) return "NaN";
  if (value === 0 || !Number.isFinite(value)) return String(value);
  // rounded first: 999.9 is 1000 and not 1.00e+3
  const rounded = Number(value.toPrecision(3));
  const size = Math.abs(rounded);
  if (size < 1e-3) return value.toExponential(1);
  if (size < 1e3) return String(rounded);
  if (Math.round(Math.abs(value)) < 1e4) return String(Math.round(value));
  const [each, suffix] = units.find(([least]) => size >= least)!;
  return `${Number((rounded / each).toPrecision(3))}${suffix}`;
}

export function count(number: number, noun: string): string {
  return `${whole(number)} ${noun}${number === 1 ? "" : "s"}`;
}

export function whole(value: number): string {
  return value.toLocaleString("en");
}

export function percent(value: number | null | undefined): string {
  return value === undefined ? "–" : value === null ? "NaN" : `${Math.round(value * 100)}%`;
}

/** How long ago, in the largest unit that fits. */
export function ago(time: number, now: number = Date.now()): string {
  const seconds = Math.max(0, (now - time) / 1000);
  const spans = [
    [86_400, "d"],
    [3600, "h"],
    [60, "min"],
    [1, "s"],
  ] as const;
  const [size, unit] = spans.find(([each]) => seconds >= each) ?? [1, "s"];
  return `${Math.floor(seconds / size)} ${unit} ago`;
}

/** A length of time in its two largest units. */
export function duration(ms: number): string {
  const seconds = Math.max(0, Math.round(ms / 1000));
  const [days, hours, minutes] = [
    Math.floor(seconds / 86_400),
    Math.floor(seconds / 3600) % 24,
    Math.floor(seconds / 60) % 60,
  ];
  if (days > 0) return `${days} d ${hours} h`;
  if (hours > 0) return `${hours} h ${minutes} min`;
  return minutes > 0 ? `${minutes} min ${seconds % 60} s` : `${seconds} s`;
}

interface Bounds {
  readonly low: number | null;
  readonly high: number | null;
}

/** The bounds of a share, or nothing where there are none. */
export function percentRange({ low, high }: Bounds): string {
  return low === null || high === null ? "" : `${Math.round(low * 100)}–${Math.round(high * 100)}%`;
}

/** A change of a share, in percentage points. */
export function points(change: number): string {
  const rounded = Math.round(change * 100);
  return `${rounded > 0 ? "+" : rounded < 0 ? "−" : "±"}${Math.abs(rounded)}`;
}
