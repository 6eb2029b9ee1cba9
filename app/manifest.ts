import type { MetadataRoute } from "next";

export default function manifest(): MetadataRoute.Manifest {
  return {
    name: "Holdfast",
    short_name: "Holdfast",
    description: "Usage limits that hold, billing meters that match, billing state that stays right.",
    start_url: "/app",
    display: "standalone",
    background_color: "#f5f7f7",
    theme_color: "#0b5f66",
    icons: [{ src: "/icon.svg", sizes: "any", type: "image/svg+xml" }],
  };
}
