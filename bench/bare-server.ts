import fastify from 'fastify'
import { systemClock } from '../server/base/clock.ts'
import { readConfig } from '../server/base/config.ts'
import type { ProjectId } from '../server/base/ids.ts'
import { createLog } from '../server/base/log.ts'
import { createSecrets } from '../server/base/secrets.ts'
import { openDatabase } from '../server/database/database.ts'
import { findList, type ListRow } from '../server/features/lists/index.ts'
import { addSubscriber } from '../server/features/subscribers/add-subscriber.ts'
import { leaveAuditRow } from '../server/operations/audit.ts'

/**
 * What the http benchmark holds us against: Fastify routes that run the same SQL for one fixed list, and nothing else: no key, no scope,
 * no limit, no validation, no shaping of the answer. Started as a process of its own with BARE_PORT, BARE_PROJECT and BARE_LIST.
 */
const { BARE_PORT, BARE_PROJECT, BARE_LIST, DATABASE_URL } = process.env
const database = openDatabase({ connection: { connectionString: DATABASE_URL as string }, clock: systemClock, log: createLog('warn') })
const key = { project_id: BARE_PROJECT as ProjectId, list_id: BARE_LIST as ListRow['id'] }
const needs = { config: readConfig({}), secrets: createSecrets('not used: nobody here must confirm') }
const app = fastify()

app.get('/list', async () => findList(database, key))

app.post<{ Body: { email: string } }>('/subscribers', async (request, reply) => {
  const { email } = request.body
  const subscriber = await database.transaction(async (tx) => {
    const list = (await findList(tx, key)) as ListRow
    const added = await addSubscriber(needs, tx, { list, known: { email: { address: email, key: email } }, verified: true, source: 'api' })
    await leaveAuditRow(tx, { project_id: key.project_id, operation: 'subscribers.create', caller: null, target: {}, request_id: '' })
    return added
  })
  reply.code(201)
  return subscriber
})

await app.listen({ port: Number(BARE_PORT), host: '127.0.0.1' })
