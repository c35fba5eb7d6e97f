/**
 * How long a peer may take. smtp-server closes a connection that is silent; one that sends a byte now and then is ended by these. When
 * half of all connections are taken the times are short, as in Postfix's STRESS_README: whoever has mail to hand over is quick.
 */
export const stageTimes = {
  /** From the greeting, or the end of the last message, to DATA. RFC 5321 section 4.5.3.2.7 asks for five minutes. */
  talking: { calm_ms: 300_000, crowded_ms: 10_000 },
  /** From DATA to the final dot: 25 MB in the calm at 340 kbit/s, in a crowd at 1.8 Mbit/s. */
  sending: { calm_ms: 600_000, crowded_ms: 120_000 },
}
export type StageTimes = typeof stageTimes

/** A peer that waits for us, because its message is being stored, is in no stage. */
export type Stage = keyof StageTimes | 'waiting'

export interface Timed {
  stage: Stage
  since: number
}

export function isOverTime(
  { stage, since }: Timed,
  { times, isCrowded, now }: { times: StageTimes; isCrowded: boolean; now: number },
): boolean {
  if (stage === 'waiting') return false
  return now - since > times[stage][isCrowded ? 'crowded_ms' : 'calm_ms']
}
