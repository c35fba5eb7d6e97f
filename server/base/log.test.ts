import assert from 'node:assert/strict'
import { test } from 'node:test'
import { pino } from 'pino'
import { formatId, newId } from './ids.ts'
import { createLog, logOptions } from './log.ts'

test('ids stand in the log as the API shows them, and whatever else is called so stays as it is', () => {
  const lines: string[] = []
  const log = pino(logOptions('info'), { write: (line: string) => void lines.push(line) })
  const id = newId<'post'>()
  log.info({ post_id: id, message_id: '<1@example.com>', inbound_id: id, reason: 'why' }, 'said')
  const { post_id, message_id, inbound_id, reason, level, msg } = JSON.parse(lines[0] as string)
  assert.deepEqual(
    { post_id, message_id, inbound_id, reason, level, msg },
    { post_id: formatId('post', id), message_id: '<1@example.com>', inbound_id: id, reason: 'why', level: 'info', msg: 'said' },
  )
  assert.equal(createLog('warn').level, 'warn')
})
