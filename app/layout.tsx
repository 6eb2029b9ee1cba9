import type { Metadata, Viewport } from "next";
import localFont from "next/font/local";
import { cookies } from "next/headers";
import type { ReactNode } from "react";
import { readTheme, THEME_COOKIE } from "./components/theme.ts";
import "./globals.css";

const DESCRIPTION = "Usage limits that hold, billing meters that match, billing state that stays right.";

export const metadata: Metadata = {
  title: { default: "Holdfast", template: "%s · Holdfast" },
  description: DESCRIPTION,
  applicationName: "Holdfast",
  metadataBase: new URL(process.env.KINDE_SITE_URL ?? "http://localhost:3000"),
  openGraph: { title: "Holdfast", description: DESCRIPTION, siteName: "Holdfast", type: "website" },
};

export const viewport: Viewport = {
  width: "device-width",
  initialScale: 1,
  colorScheme: "light dark",
  themeColor: [
    { media: "(prefers-color-scheme: light)", color: "#f5f7f7" },
    { media: "(prefers-color-scheme: dark)", color: "#0e1214" },
  ],
};

// Bundled files: nothing is fetched from elsewhere, and the fallback is sized so that the text does not jump.
const inter = localFont({
  src: "../node_modules/@fontsource-variable/inter/files/inter-latin-wght-normal.woff2",
  variable: "--font-inter",
  weight: "100 900",
});
const jetbrains = localFont({
  src: "../node_modules/@fontsource-variable/jetbrains-mono/files/jetbrains-mono-latin-wght-normal.woff2",
  variable: "--font-jetbrains",
  weight: "100 800",
  preload: false,
});

export default async function RootLayout({ children }: { children: ReactNode }) {
  const theme = readTheme((await cookies()).get(THEME_COOKIE)?.value);
  return (
    <html
      lang="en"
      data-theme={theme === "system" ? undefined : theme}
      className={`${inter.variable} ${jetbrains.variable}`}
    >
      <body className="min-h-dvh bg-page font-sans text-ink antialiased">
        <a
          href="#main"
          className="sr-only z-50 focus:not-sr-only focus:absolute focus:top-3 focus:left-3 focus:rounded-md focus:bg-card focus:px-3 focus:py-2 focus:shadow-lg"
        >
          Skip to the content
        </a>
        {children}
      </body>
    </html>
  );
}
