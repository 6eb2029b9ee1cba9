"use client";

import { Button } from "./button.tsx";
import { Notice } from "./notice.tsx";

/** In the place of a screen that broke. What is stored is not touched by it. */
export function ScreenError({ digest, retry }: { digest: string | undefined; retry: () => void }) {
  return (
    <Notice
      isNews
      tone="bad"
      title="This screen could not be shown"
      next={
        <div className="flex flex-wrap gap-2 pt-2">
          <Button onClick={retry}>Try again</Button>
          <Button onClick={() => location.reload()}>Reload the page</Button>
        </div>
      }
    >
      Nothing that is stored has changed. If it stays like this, the server&apos;s log says why
      {digest !== undefined && (
        <>
          {" "}
          (<code className="font-mono">{digest}</code>)
        </>
      )}
      .
    </Notice>
  );
}
