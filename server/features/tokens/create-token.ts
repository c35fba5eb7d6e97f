import { ApiError, invalid } from '../../base/errors.ts'
import { defineOperation } from '../../operations/define-operation.ts'
import { findMailbox } from '../mailboxes/index.ts'
import { CreatedToken, makeKey, NewToken } from './token.ts'
import { insertToken } from './token-queries.ts'

export const createToken = defineOperation({
  id: 'tokens.create',
  method: 'POST',
  path: '/api/tokens',
  base: 'identity',
  scope: 'admin',
  summary: 'Create an API key',
  description: 'The key is in the answer, once. A key can never do more, or live longer, than the one that creates it.',
  body: NewToken,
  result: CreatedToken,
  status: 201,
  errors: [],

  async run({ database, clock, caller }, { body }) {
    const excess = body.scope.filter((scope) => !caller.scopes.includes(scope))
    if (excess.length > 0)
      throw new ApiError('forbidden', `scope: this key cannot grant ${excess.join(', ')}, which it does not have itself`)
    if (body.expires_at && body.expires_at <= clock.now()) throw invalid('expires_at', 'must be in the future')
    const mailbox_id = body.mailbox_id ?? null
    const ends = [body.expires_at, caller.expires_at].filter((end) => end != null)
    const expires_at = ends.length > 0 ? new Date(Math.min(...ends.map(Number))) : null
    return database.transaction(async (tx) => {
      if (mailbox_id && !(await findMailbox(tx, caller.project_id, mailbox_id)))
        throw invalid('mailbox_id', 'names no mailbox of this project')
      const key = makeKey(mailbox_id !== null)
      const token = await insertToken(tx, {
        ...caller,
        name: body.name,
        key,
        scopes: body.scope,
        mailbox_id,
        expires_at,
      })
      return { ...token!, key } // an insert without conflict clause always returns its row
    })
  },
})
