import { errorText, LudusError } from "./errors.ts";

/** Throws where a port is none, in our words rather than in those of `net`. */
export function checkPort(port: number): void {
  if (Number.isInteger(port) && port >= 0 && port <= 65535) return;
  const hint = "0 takes any that is free.";
  throw new LudusError("bad-port", { got: `port ${port}`, expected: "a whole number from 0 to 65535", hint });
}

/** Why a server cannot listen, and what to do. */
export function listenError(cause: unknown, host: string, port: number): LudusError {
  const code = cause instanceof Error && "code" in cause ? String(cause.code) : "";
  return new LudusError("cannot-listen", {
    got: `port ${port} of ${host}: ${reasons[code] ?? errorText(cause)}`,
    expected: "an address and a port that can be listened on",
    hint: remedies[code] ?? "0 takes any port that is free.",
    cause,
  });
}

const reasons: Readonly<Record<string, string>> = {
  EADDRINUSE: "another program listens there",
  EACCES: "not allowed for this user",
  EADDRNOTAVAIL: "no address of this machine",
  ENOTFOUND: "no address has this name",
};
const remedies: Readonly<Record<string, string>> = {
  EADDRINUSE: "End that program, choose another port, or 0 for any that is free.",
  EACCES: "Ports below 1024 are for root: choose one above.",
  EADDRNOTAVAIL: "127.0.0.1 is this machine alone, 0.0.0.0 all its addresses.",
  ENOTFOUND: "127.0.0.1 is this machine alone, 0.0.0.0 all its addresses.",
};
