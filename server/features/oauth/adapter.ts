import { type Adapter, type AdapterPayload, errors } from 'oidc-provider'
import { formatId } from '../../base/ids.ts'
import { hashOfSecret } from '../../base/secrets.ts'
import type { Transaction } from '../../database/database.ts'
import { leaveAuditRow } from '../../operations/audit.ts'
import type { Services } from '../../operations/context.ts'
import { placeOf } from './oauth.ts'
import {
  consumeRecord,
  deleteRecord,
  deleteRecordsOfGrant,
  endGrant,
  findRecord,
  findRecordByUid,
  type RecordRow,
  upsertRecord,
} from './oauth-queries.ts'

type Parts = Pick<Services, 'database' | 'clock' | 'secrets'>

/**
 * Where the OAuth server keeps what it knows. The id of a record is often the token itself, so its hash is kept, and the rest is
 * encrypted: who reads the database can use none of it.
 */
export function createAdapter({ database, clock, secrets }: Parts): (model: string) => Adapter {
  const openRecord = (model: string, row: RecordRow | null, id?: string): AdapterPayload | undefined => {
    if (!row) return undefined
    const payload = JSON.parse(secrets.open('oauth', placeOf(model, row.id_hash), row.payload)) as AdapterPayload
    return {
      ...payload,
      ...(id === undefined || model === 'Client' ? {} : { jti: id }),
      ...(row.consumed_at ? { consumed: Math.floor(row.consumed_at.getTime() / 1000) } : {}),
    }
  }

  return (model) => ({
    async upsert(id, { jti: _token, consumed: _column, ...payload }, seconds) {
      const id_hash = hashOfSecret(id)
      const now = clock.now()
      const record = {
        model,
        id_hash,
        payload: secrets.seal('oauth', placeOf(model, id_hash), JSON.stringify(payload)),
        grant_id: model === 'Grant' ? id : (payload.grantId ?? null),
        uid: payload.uid ?? null,
        expires_at: seconds === undefined ? null : new Date(now.getTime() + seconds * 1000),
      }
      await upsertRecord(database, record, now)
    },
    find: async (id) => openRecord(model, await findRecord(database, model, hashOfSecret(id), clock.now()), id),
    findByUid: async (uid) => openRecord(model, await findRecordByUid(database, model, uid, clock.now())),
    // Codes that people type are the device flow's, which is off.
    findByUserCode: async () => undefined,
    async consume(id) {
      if (!(await consumeRecord(database, model, hashOfSecret(id), clock.now()))) throw new errors.InvalidGrant('already used')
    },
    async destroy(id) {
      await deleteRecord(database, model, hashOfSecret(id))
      if (model === 'Grant') await database.transaction((tx) => tellEnded(tx, id))
    },
    async revokeByGrantId(grantId) {
      await deleteRecordsOfGrant(database, model, grantId)
    },
  })
}

/** The person did not do this: their app gave a token back, or one that was used up came again. */
async function tellEnded(tx: Transaction, grant_id: string): Promise<void> {
  const ended = await endGrant(tx, grant_id)
  if (!ended) return
  const { project_id, id, user_id } = ended
  const row = {
    project_id,
    operation: 'apps.end',
    caller: { user_id, key_id: null },
    target: { id: formatId('app', id) },
    request_id: 'oauth',
  }
  await leaveAuditRow(tx, row)
}
