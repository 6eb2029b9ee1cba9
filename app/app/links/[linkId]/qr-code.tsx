"use client";

import { Download } from "lucide-react";
import type { LinkView } from "../../../../convex/links.ts";
import { buttonClass } from "../../../components/button.tsx";
import { Panel } from "../../../components/panel.tsx";

/** The QR code of a link, drawn by the server. The picture is dark on light in both themes: cameras need that. */
export function QrCode({ link: { id, code, url } }: { link: LinkView }) {
  const source = `/api/v1/links/${id}/qr`;
  return (
    <Panel id="qr" title="QR code">
      <div className="flex justify-center rounded-lg bg-white p-3 ring-1 ring-line">
        {/* oxlint-disable-next-line nextjs/no-img-element -- a small SVG that needs the session, nothing to optimise */}
        <img src={`${source}.svg`} alt={`QR code of ${url}`} width={176} height={176} className="size-44" />
      </div>
      <div className="flex flex-wrap gap-2">
        <a href={`${source}.svg`} download={`${code}.svg`} className={buttonClass("secondary", "sm")}>
          <Download aria-hidden className="size-4" />
          SVG
        </a>
        <a href={`${source}.png`} download={`${code}.png`} className={buttonClass("secondary", "sm")}>
          <Download aria-hidden className="size-4" />
          PNG
        </a>
      </div>
    </Panel>
  );
}
