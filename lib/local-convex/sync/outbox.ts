/** Sends over one socket: large transitions in pieces, and no more transitions than the client takes in. */
import type { WebSocket } from "ws";

/** Backlog of a slow client: beyond it, results are computed again when they can be sent. */
const TRANSITIONS_UNSENT_MAX = 2;
/** Clients take any text, but larger ones block their socket for too long. */
const CHUNK_CHARS = 5 * 1024 * 1024;

export class Outbox {
  lastSentMs: number;
  private unsent = 0;
  private transitionsCut = 0;
  private wake: (() => void) | null = null;

  constructor(
    private readonly socket: WebSocket,
    private readonly nowMs: () => number,
  ) {
    this.lastSentMs = nowMs();
    socket.once("close", () => this.wake?.());
  }

  send(text: string, onSent?: () => void): void {
    if (this.socket.readyState !== this.socket.OPEN) return;
    this.lastSentMs = this.nowMs();
    this.socket.send(text, () => onSent?.());
  }

  sendTransition(text: string): void {
    this.unsent++;
    const onSent = (): void => {
      this.unsent--;
      this.wake?.();
    };
    if (text.length <= CHUNK_CHARS) return this.send(text, onSent);
    const totalParts = Math.ceil(text.length / CHUNK_CHARS);
    const transitionId = String(this.transitionsCut++);
    for (let partNumber = 0; partNumber < totalParts; partNumber++) {
      const chunk = text.slice(partNumber * CHUNK_CHARS, (partNumber + 1) * CHUNK_CHARS);
      const piece = { type: "TransitionChunk", chunk, partNumber, totalParts, transitionId };
      this.send(JSON.stringify(piece), partNumber === totalParts - 1 ? onSent : undefined);
    }
  }

  /** Resolves when another transition may be sent, or the socket has gone. */
  async ready(): Promise<void> {
    while (this.unsent >= TRANSITIONS_UNSENT_MAX && this.socket.readyState === this.socket.OPEN) {
      await new Promise<void>((resolve) => {
        this.wake = resolve;
      });
    }
    this.wake = null;
  }
}
