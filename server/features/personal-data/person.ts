import type { ContactId, ProjectId } from '../../base/ids.ts'
import type { ContactRow } from '../contacts/contact.ts'
import { toContactDetail } from '../contacts/contact.ts'

/** Who somebody is in a project: by this everything of theirs is found. */
export interface Person {
  project_id: ProjectId
  contact_id: ContactId
  email: string | null
  email_key: string | null
}

/** What stands where an address was that a ledger cannot be without. RFC 2606: nobody will ever have it. */
export const erasedAddress = 'erased@erased.invalid'

/** The ways in which their address may be written, in lower case. */
export const spellingsOf = ({ email, email_key }: Pick<Person, 'email' | 'email_key'>): string[] => [
  ...new Set([email?.toLowerCase(), email_key].flatMap((address) => address ?? [])),
]

/** Everything that people say of themselves, or others say of them. */
export const blank = {
  email: null,
  name: null,
  notes: null,
  org: null,
  job_title: null,
  tags: [],
  metadata: {},
  country: null,
  city: null,
  timezone: null,
}

/** Whom to forget is told by the id alone. */
export const erasedEventData = (row: ContactRow) => ({ contact_id: row.id, contact: { ...toContactDetail(row), ...blank } })
