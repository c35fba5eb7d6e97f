import type { ContactId, ProjectId } from '../../base/ids.ts'
import type { ContactRow } from '../contacts/contact.ts'
import { toContactDetail } from '../contacts/contact.ts'
import type { FormerAddress } from '../contacts/index.ts'

/** Who somebody is in a project: by this everything of theirs is found. */
export interface Person {
  project_id: ProjectId
  contact_id: ContactId
  email: string | null
  email_key: string | null
  /** What they had before. */
  former: FormerAddress[]
}

/** What stands where an address was that a ledger cannot be without. RFC 2606: nobody will ever have it. */
export const erasedAddress = 'erased@erased.invalid'

type Addresses = Pick<Person, 'email' | 'email_key' | 'former'>

/** The addresses that they have and had, as all spellings of one come to. */
export const keysOf = ({ email_key, former }: Addresses): string[] => [
  ...new Set([email_key, ...former.map((one) => one.email_key)].flatMap((key) => key ?? [])),
]

/** The ways in which their addresses may be written, in lower case. */
export const spellingsOf = (person: Addresses): string[] => [
  ...new Set([
    ...[person.email, ...person.former.map(({ email }) => email)].flatMap((address) => address?.toLowerCase() ?? []),
    ...keysOf(person),
  ]),
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
