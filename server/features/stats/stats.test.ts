import assert from 'node:assert/strict'
import { test } from 'node:test'
import { newId } from '../../base/ids.ts'
import { SeriesQuery, spanOf, toPostStats } from './stats.ts'

const now = new Date('2026-11-15T09:30:00Z') // a Sunday
const span = (query: object = {}) => spanOf(SeriesQuery.parse(query), now)
const day = (text: string) => new Date(text)

test('thirty days up to today, unless said', () => {
  const { starts, from, until } = span()
  assert.deepEqual([starts.length, starts[0], starts.at(-1)], [30, '2026-10-17', '2026-11-15'])
  assert.deepEqual([from, until], [day('2026-10-17'), day('2026-11-16')])
  assert.deepEqual(span({ to: '2026-03-01' }).starts.slice(-2), ['2026-02-28', '2026-03-01'])
  assert.deepEqual(span({ from: '2026-11-15' }).starts, ['2026-11-15'])
})

test('weeks begin on Monday and months on the first, and are shown whole', () => {
  const weeks = span({ interval: 'week', from: '2026-11-04', to: '2026-11-10' })
  assert.deepEqual([weeks.starts, weeks.from, weeks.until], [['2026-11-02', '2026-11-09'], day('2026-11-02'), day('2026-11-16')])
  const months = span({ interval: 'month', from: '2025-12-31', to: '2026-02-01' })
  assert.deepEqual([months.starts, months.until], [['2025-12-01', '2026-01-01', '2026-02-01'], day('2026-03-01')])
  assert.deepEqual(span({ interval: 'day', from: '2024-02-28', to: '2024-03-01' }).starts, ['2024-02-28', '2024-02-29', '2024-03-01'])
})

test('it ends with today; what would begin after its end is refused, and so are more than 400 points', () => {
  assert.equal(span({ to: '2999-01-01' }).starts.at(-1), '2026-11-15')
  for (const [query, message] of [
    [{ from: '2026-11-16' }, /^from: must not be in the future$/],
    [{ from: '2027-01-01', to: '2028-01-01' }, /^from: must not be in the future$/],
    [{ from: '2026-11-02', to: '2026-11-01' }, /^from: must not be after `to`$/],
    [{ from: '2025-01-01' }, /^from: gives more than 400 points/],
    [{ from: '0001-01-01', interval: 'month' }, /^from: gives more than 400 points/],
  ] as const)
    assert.throws(() => span(query), { message })
  assert.equal(span({ from: '2025-10-12', to: '2026-11-15' }).starts.length, 400)
  for (const wrong of ['yesterday', '2026-02-30', '2026-1-1', '2026-11-15T00:00:00Z', ''])
    assert.equal(SeriesQuery.safeParse({ from: wrong }).success, false, wrong)
})

test('rates are parts of what arrived, or of what was sent, and 0 of nothing', () => {
  const row = { post_id: newId<'post'>(), subject: 'Hi', sent_at: null, recipients: 10, failed: 1 }
  const some = toPostStats({ ...row, delivered: 6, bounced: 3, opened: 4, clicked: 2, complained: 1, unsubscribed: 1 })
  assert.partialDeepStrictEqual(some, {
    sent: 9,
    open_rate: 0.6667,
    click_rate: 0.3333,
    bounce_rate: 0.3333,
    complaint_rate: 0.1667,
    unsubscribe_rate: 0.1667,
  })
  const none = toPostStats({ ...row, delivered: 0, bounced: 0, opened: 0, clicked: 0, complained: 0, unsubscribed: 0 })
  assert.partialDeepStrictEqual(none, { sent: 0, open_rate: 0, click_rate: 0, bounce_rate: 0, complaint_rate: 0, unsubscribe_rate: 0 })
  assert.equal(toPostStats({ ...row, delivered: 1, bounced: 0, opened: 2, clicked: 0, complained: 0, unsubscribed: 0 }).open_rate, 1)
})
