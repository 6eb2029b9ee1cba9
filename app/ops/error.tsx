"use client";

import { ScreenError } from "../components/screen-error.tsx";

export default function Failed({ error, reset }: { error: Error & { digest?: string }; reset: () => void }) {
  return <ScreenError digest={error.digest} retry={reset} />;
}
