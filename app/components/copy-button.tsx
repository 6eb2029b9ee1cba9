"use client";

import { Check, Copy } from "lucide-react";
import { useEffect, useState } from "react";
import { Button, IconButton } from "./button.tsx";
import { toast } from "./toast.tsx";

const SHOWN_MS = 2_000;

/** Copies a text and says so. With `label` as its text, or as an icon. */
export function CopyButton({
  text,
  label,
  isIcon = false,
}: {
  text: string;
  label: string;
  isIcon?: boolean;
}) {
  const [isCopied, setIsCopied] = useState(false);
  useEffect(() => {
    if (!isCopied) return undefined;
    const timer = setTimeout(() => setIsCopied(false), SHOWN_MS);
    return () => clearTimeout(timer);
  }, [isCopied]);

  async function onCopy() {
    try {
      await navigator.clipboard.writeText(text);
      setIsCopied(true);
    } catch {
      toast.failed("Not copied", "The browser does not allow it here. Mark the text and copy it by hand.");
    }
  }

  const Icon = isCopied ? Check : Copy;
  const icon = <Icon aria-hidden className="size-4" />;
  return isIcon ? (
    <IconButton label={isCopied ? "Copied" : label} onClick={() => void onCopy()}>
      {icon}
    </IconButton>
  ) : (
    <Button size="sm" onClick={() => void onCopy()}>
      {icon}
      {isCopied ? "Copied" : label}
    </Button>
  );
}
