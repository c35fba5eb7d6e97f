import { z } from 'zod'
import { notFound } from '../../base/errors.ts'
import { idOf } from '../../base/ids.ts'
import { roles, scopes } from '../../operations/context.ts'
import { defineOperation } from '../../operations/define-operation.ts'
import { findIdentity } from './identity-queries.ts'

const Me = z
  .object({
    user: z.object({
      id: idOf('usr'),
      kind: z.enum(['human', 'agent']),
      email: z.string().nullable(),
      name: z.string().nullable(),
      slug: z.string(),
    }),
    project: z.object({
      id: idOf('prj'),
      name: z.string(),
      slug: z.string(),
      space: z.string().meta({ description: '`owner/slug`: the project’s API is also at /{owner}/{slug}/v1' }),
    }),
    role: z.enum(roles).meta({ description: 'What the user is in the project; a key never reaches further' }),
    key_id: idOf('key').nullable(),
    mailbox_id: idOf('mbx').nullable(),
    scopes: z.array(z.enum(scopes)),
  })
  .meta({ id: 'Me' })

export const getMe = defineOperation({
  id: 'me.get',
  method: 'GET',
  path: '/api/me',
  base: 'identity',
  scope: 'any',
  mailboxKeys: 'allowed',
  summary: 'Who the key belongs to, and what it may do',
  result: Me,
  status: 200,
  errors: [],

  async run({ database, caller }) {
    const found = await findIdentity(database, caller.user_id, caller.project_id)
    if (!found) throw notFound('identity')
    return {
      user: { id: found.user_id, kind: found.user_kind, email: found.user_email, name: found.user_name, slug: found.user_slug },
      project: { id: found.project_id, name: found.project_name, slug: found.project_slug, space: caller.space },
      role: caller.role,
      key_id: caller.key_id,
      mailbox_id: caller.mailbox_id,
      scopes: [...caller.scopes],
    }
  },
})
