"use client";

import { Monitor, Moon, Sun } from "lucide-react";
import { useSyncExternalStore } from "react";
import { IconButton } from "./button.tsx";
import { readTheme, type Theme, themeCookie, THEMES } from "./theme.ts";

const LOOKS = {
  system: { icon: Monitor, label: "Theme: as the system" },
  light: { icon: Sun, label: "Theme: light" },
  dark: { icon: Moon, label: "Theme: dark" },
} as const;

// The server wrote the choice on <html>, and that is where it is kept; a phone and a wide screen have a switch each.
const chosen = (): Theme => readTheme(document.documentElement.dataset["theme"]);

function subscribe(listener: () => void): () => void {
  const observer = new MutationObserver(listener);
  observer.observe(document.documentElement, { attributeFilter: ["data-theme"] });
  return () => observer.disconnect();
}

/** One button that goes round: as the system, light, dark. */
export function ThemeSwitch() {
  const theme = useSyncExternalStore(subscribe, chosen, () => "system" as const);

  function onClick() {
    const next = THEMES[(THEMES.indexOf(theme) + 1) % THEMES.length] ?? "system";
    document.cookie = themeCookie(next);
    if (next === "system") delete document.documentElement.dataset["theme"];
    else document.documentElement.dataset["theme"] = next;
  }

  const { icon: Icon, label } = LOOKS[theme];
  return (
    <IconButton label={`${label}. Change`} onClick={onClick}>
      <Icon aria-hidden className="size-4" />
    </IconButton>
  );
}
