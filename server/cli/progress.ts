import type { WriteStream } from 'node:tty'

/** How far a long piece of work is. Bytes are what the bar measures; rows are what people count in. */
export interface Progress {
  /** `of` is null where nobody knows the whole. */
  show(state: { bytes: number; of: number | null; rows?: number }): void
  /** What goes on when there is nothing to measure. */
  say(what: string): void
  /** Takes the bar away: what follows is the summary. */
  end(): void
}

const everyMs = 100
const barWidth = 24

/** A line on standard error that is drawn anew; nothing at all where that is not a terminal, so that logs stay clean. */
export function createProgress(what: string, out: Pick<WriteStream, 'isTTY' | 'columns' | 'write'> = process.stderr): Progress {
  if (!out.isTTY) return { show() {}, say() {}, end() {} }
  const began = performance.now()
  let drawnAt = Number.NEGATIVE_INFINITY
  const draw = (text: string) => {
    drawnAt = performance.now()
    out.write(`\r\x1b[K${`${what}  ${text}`.slice(0, (out.columns || 80) - 1)}`)
  }
  return {
    show(state) {
      const now = performance.now()
      if (now - drawnAt >= everyMs) draw(describe(state, (now - began) / 1000))
    },
    say: draw,
    end() {
      if (drawnAt >= began) out.write('\r\x1b[K')
    },
  }
}

/** `[########----------------]  33 %  41.2 MB of 124.9 MB  18,400 rows/s  0:07 left` */
export function describe({ bytes, of, rows }: { bytes: number; of: number | null; rows?: number }, seconds: number): string {
  const share = of === null || of === 0 ? null : Math.min(1, bytes / of)
  const parts = share === null ? [megabytes(bytes)] : [bar(share), `${megabytes(bytes)} of ${megabytes(of ?? 0)}`]
  if (rows !== undefined && seconds > 0) parts.push(`${count(Math.round(rows / seconds))} rows/s`)
  if (share !== null && share > 0.01 && seconds > 1) parts.push(`${clock((seconds / share) * (1 - share))} left`)
  return parts.join('  ')
}

function bar(share: number): string {
  const full = Math.round(share * barWidth)
  return `[${'#'.repeat(full)}${'-'.repeat(barWidth - full)}] ${String(Math.floor(share * 100)).padStart(3)} %`
}

const clock = (seconds: number): string => `${Math.floor(seconds / 60)}:${String(Math.floor(seconds % 60)).padStart(2, '0')}`

export const megabytes = (bytes: number): string => `${(bytes / 1_000_000).toFixed(1)} MB`
export const count = (number: number): string => number.toLocaleString('en')
/** `2.4 s`, `3 min 12 s` */
export const duration = (ms: number): string =>
  ms < 60_000 ? `${(ms / 1000).toFixed(1)} s` : `${Math.floor(ms / 60_000)} min ${Math.round((ms % 60_000) / 1000)} s`
