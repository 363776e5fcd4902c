const days = ["Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"];
const months = [
  ...["January", "February", "March", "April", "May", "June"],
  ...["July", "August", "September", "October", "November", "December"],
];

/** Python's `strftime` in English and local time, for the directives that chat templates use. Others stay as they are. */
export function formatTime(time: Date, format: string): string {
  const two = (value: number) => String(value).padStart(2, "0");
  const values: Record<string, () => string> = {
    a: () => days[time.getDay()].slice(0, 3),
    A: () => days[time.getDay()],
    b: () => months[time.getMonth()].slice(0, 3),
    B: () => months[time.getMonth()],
    d: () => two(time.getDate()),
    H: () => two(time.getHours()),
    m: () => two(time.getMonth() + 1),
    M: () => two(time.getMinutes()),
    S: () => two(time.getSeconds()),
    y: () => two(time.getFullYear() % 100),
    Y: () => String(time.getFullYear()),
    "%": () => "%",
  };
  return format.replace(/%([%a-zA-Z])/g, (directive, letter: string) => values[letter]?.() ?? directive);
}
