// Small numbers about many numbers.

/**
 * The value that a share of all values does not exceed (nearest rank), or null when there are none.
 * @param {readonly number[]} values
 * @param {number} share above 0, at most 1
 */
export function quantile(values, share) {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.max(0, Math.ceil(sorted.length * share) - 1)] ?? null;
}

/**
 * @param {readonly number[]} values at least one
 * @returns {number}
 */
export function median(values) {
  return quantile(values, 0.5) ?? Number.NaN;
}

/**
 * Rounded for people: `digits` after the point.
 * @param {number} value
 * @param {number} [digits]
 */
export function rounded(value, digits = 1) {
  return Number(value.toFixed(digits));
}

/**
 * Splits `total` into `parts` whole numbers that add up to it and differ by at most one.
 * @param {number} total
 * @param {number} parts
 */
export function splitEvenly(total, parts) {
  const share = Math.floor(total / parts);
  const larger = total - share * parts;
  return Array.from({ length: parts }, (_, index) => share + (index < larger ? 1 : 0));
}
