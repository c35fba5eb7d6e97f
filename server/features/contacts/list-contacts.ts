import { z } from 'zod'
import { defineOperation } from '../../operations/define-operation.ts'
import { limitOf } from '../../operations/page.ts'
import { ContactSort, ContactSummary } from './contact.ts'
import { firstContacts } from './contact-page-queries.ts'

export const listContacts = defineOperation({
  id: 'contacts.list',
  method: 'GET',
  path: '/contacts',
  scope: 'read',
  summary: 'The people of the project, across all its lists',
  description:
    'Sorted by engagement (`top`: a reply says more than a click, a click more than an open), by the last thing they did (`activity`), by name, by address, or newest first (`created`). Those who have nothing to be sorted by follow, newest first.',
  query: z.object({
    search: z.string().max(200).optional().meta({ description: 'Part of the address or the name' }),
    sort: ContactSort.default('top'),
    limit: limitOf(50),
  }),
  result: z.array(ContactSummary),
  status: 200,
  errors: [],

  async run({ database, caller }, { query }) {
    return firstContacts(database, { ...query, project_id: caller.project_id, search: query.search?.trim() || undefined })
  },
})
