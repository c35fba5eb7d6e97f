import { z } from 'zod'
import { notFound } from '../../base/errors.ts'
import { idOf } from '../../base/ids.ts'
import { defineOperation } from '../../operations/define-operation.ts'
import { limitOf } from '../../operations/page.ts'
import { ContactSort, ContactSummary } from './contact.ts'
import { firstContacts, groupExists } from './contact-page-queries.ts'

export const listContacts = defineOperation({
  id: 'contacts.list',
  method: 'GET',
  path: '/contacts',
  scope: 'read',
  summary: 'The people of the project, across all its lists',
  description:
    'Sorted by engagement (`top`: a reply says more than a click, a click more than an open), by the last thing they did (`activity`), by name, by address, or newest first (`created`). Those who have nothing to be sorted by follow, newest first.',
  query: z.object({
    search: z.string().max(200).optional().meta({
      description:
        'Part of the address or the name. One or two letters are looked for where the address or a part of the name begins. Sorted by name or address among many thousands, those whose name or address begins with it are shown rather than those who have it elsewhere.',
    }),
    group_id: idOf('grp').optional().meta({ description: 'Only contacts of this group' }),
    sort: ContactSort.default('top'),
    limit: limitOf(50),
  }),
  result: z.array(ContactSummary),
  status: 200,
  errors: ['not_found'],

  async run({ database, caller }, { query }) {
    const { group_id } = query
    if (group_id !== undefined && !(await groupExists(database, { project_id: caller.project_id, group_id })))
      throw notFound('contact group')
    return firstContacts(database, { ...query, project_id: caller.project_id, search: query.search?.trim() || undefined })
  },
})
