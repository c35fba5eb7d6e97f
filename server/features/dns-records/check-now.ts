import type { Context } from '../../operations/context.ts'

const freshMs = 5_000

/** What was seen a moment ago is told again. */
export const isFresh = ({ clock }: Pick<Context, 'clock'>, { last_checked_at }: { last_checked_at: Date | null }): boolean =>
  last_checked_at !== null && Math.abs(clock.now().getTime() - last_checked_at.getTime()) < freshMs

const underWay = new WeakMap<Context['dns'], Map<string, Promise<void>>>()

/** Those who ask while somebody else does wait for the same answer. */
export function checkTogether({ dns }: Pick<Context, 'dns'>, name: string, check: () => Promise<void>): Promise<void> {
  const checks = underWay.get(dns) ?? new Map<string, Promise<void>>()
  underWay.set(dns, checks)
  const running = checks.get(name)
  if (running) return running
  const started = check().finally(() => checks.delete(name))
  checks.set(name, started)
  return started
}
