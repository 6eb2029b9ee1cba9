import type { Metadata } from "next";
import { EngineRoomScreen } from "./engine-room-screen.tsx";

export const metadata: Metadata = { title: "Engine Room" };

export default function EngineRoomPage() {
  return <EngineRoomScreen />;
}
