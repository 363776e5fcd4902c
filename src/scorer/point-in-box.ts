export type Point = readonly [x: number, y: number];
/** Left, top, right, bottom. */
export type BoundingBox = readonly [left: number, top: number, right: number, bottom: number];

/** Whether the point lies in the box, its edges included. */
export function isPointInBox([x, y]: Point, [left, top, right, bottom]: BoundingBox): boolean {
  return left <= x && x <= right && top <= y && y <= bottom;
}
