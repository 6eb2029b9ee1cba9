/**
 * The refresh lease as it travels to the caller and back: feature and fence. It needs no secret, because the account
 * comes from the caller's key and an unknown fence changes nothing.
 */
export function formatRefreshLease(feature: string, fence: number): string {
  return `${feature}.${fence}`;
}

/** Null when the text is not a refresh lease. */
export function parseRefreshLease(text: string): { readonly feature: string; readonly fence: number } | null {
  const match = /^([a-z]+)\.(\d{1,15})$/.exec(text);
  if (match === null) return null;
  return { feature: match[1]!, fence: Number(match[2]) };
}
