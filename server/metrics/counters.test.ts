import assert from 'node:assert/strict'
import { beforeEach, test } from 'node:test'
import { addCounts, countAnswer, counters, countMail, countRequest, countWebhookAttempt, takeCounts } from './counters.ts'

/** The counters belong to the process: each test begins with what others have left taken away. */
beforeEach(() => void takeCounts())

test('requests count by the class of their status', () => {
  for (const status of [200, 201, 204, 302, 404, 429, 503]) countRequest(status)
  assert.deepEqual(Object.fromEntries(counters.requests), { 'status="2xx"': 3, 'status="3xx"': 1, 'status="4xx"': 2, 'status="5xx"': 1 })
})

test('attempts to send count by transport and outcome; what nobody was asked about does not', () => {
  countMail('smtp', { kind: 'delivered' })
  countMail('smtp', { kind: 'delivered' })
  countMail('smtp', { kind: 'deferred' })
  countMail('smtp', { kind: 'deferred', isUnbegun: true })
  countMail('ses', { kind: 'bounced' })
  assert.deepEqual(takeCounts().mail_out, [
    ['transport="smtp",outcome="delivered"', 2],
    ['transport="smtp",outcome="deferred"', 1],
    ['transport="ses",outcome="bounced"', 1],
  ])
})

test('answers to who brings mail count by their code', () => {
  for (const code of [250, 250, 550, 451]) countAnswer(code)
  assert.deepEqual(takeCounts().mail_in, [
    ['answer="250"', 2],
    ['answer="550"', 1],
    ['answer="451"', 1],
  ])
})

test('calls of webhooks count by what came of them', () => {
  countWebhookAttempt({ status: 'delivered', http_status: 204 })
  countWebhookAttempt({ status: 'failed', http_status: 500 })
  countWebhookAttempt({ status: 'failed', http_status: null })
  countWebhookAttempt({ status: 'failed', http_status: null })
  assert.deepEqual(takeCounts().webhook_attempts, [
    ['result="delivered"', 1],
    ['result="refused"', 1],
    ['result="unanswered"', 2],
  ])
})

test('what a thread has counted is added once, and nothing is counted twice', () => {
  countMail('smtp', { kind: 'delivered' })
  countRequest(200)
  const taken = structuredClone(takeCounts())
  assert.deepEqual(takeCounts(), { requests: [], mail_out: [], mail_in: [], webhook_attempts: [] })
  countMail('smtp', { kind: 'delivered' })
  addCounts(taken)
  assert.equal(counters.mail_out.get('transport="smtp",outcome="delivered"'), 2)
  assert.equal(counters.requests.get('status="2xx"'), 1)
})
