/** Light, dark, or whatever the system says. Kept in a cookie, so that the first byte of a page has the right one. */
export const THEMES = ["system", "light", "dark"] as const;
export type Theme = (typeof THEMES)[number];

export const THEME_COOKIE = "holdfast-theme";
const YEAR_SECONDS = 31_536_000;

export function readTheme(cookie: string | undefined): Theme {
  return cookie === "light" || cookie === "dark" ? cookie : "system";
}

export function themeCookie(theme: Theme): string {
  const life = theme === "system" ? 0 : YEAR_SECONDS;
  return `${THEME_COOKIE}=${theme}; path=/; max-age=${life}; samesite=lax`;
}
