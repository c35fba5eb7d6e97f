import { z } from 'zod'
import { defineOperation } from '../../operations/define-operation.ts'
import { email, text } from '../../operations/schemas.ts'
import { Suppression, type SuppressionRow } from './suppression.ts'
import { addSuppression } from './suppression-queries.ts'

export const createSuppression = defineOperation({
  id: 'suppressions.create',
  method: 'POST',
  path: '/suppressions',
  scope: 'write',
  summary: 'Send no more mail to an address',
  description:
    'Holds for every list of the project. Subscribers with this address keep their status; sending passes over them, and adding the address to a list is refused. An address that is suppressed already is answered as it is.',
  body: z.object({
    email,
    reason: z.literal('manual').default('manual').meta({ description: 'The others are for bounces, complaints and erasure to give' }),
    detail: text(1_000).optional().meta({ description: 'Why, for those who look at it later' }),
  }),
  result: Suppression,
  status: 201,
  errors: [],

  async run({ database, caller }, { body }) {
    const suppression = { ...body, project_id: caller.project_id, detail: body.detail ?? null }
    return database.transaction(async (tx) => (await addSuppression(tx, suppression)) as SuppressionRow) // inserted or held: never null
  },
})
