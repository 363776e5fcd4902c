export type { Guide, MakeGuide } from "./guide.ts";
export { inOrder } from "./in-order.ts";
