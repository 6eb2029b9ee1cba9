/**
 * Compares two secrets in a time that depends on their lengths only, never on where they differ. The default Convex
 * runtime has no `timingSafeEqual`, and a digest of both would cost an admission more than all its reads.
 */
export function equalInConstantTime(expected: string, given: string): boolean {
  const length = Math.max(expected.length, given.length);
  let difference = expected.length ^ given.length;
  for (let index = 0; index < length; index += 1) {
    // charCodeAt past the end is NaN, which `^` reads as 0.
    difference |= expected.charCodeAt(index) ^ given.charCodeAt(index);
  }
  return difference === 0;
}
