import { firstOf, problemsIn } from '../dns-records/index.ts'
import { chosenAddressOf, type ListRow } from '../lists/list.ts'
import type { SenderRecord } from './records.ts'
import { isLost, type SenderDomainRow } from './sender-domain.ts'

interface Told {
  list: ListRow
  domain: { row: SenderDomainRow; wanted: SenderRecord[] } | null
}

/** One paragraph for the person who has to do it: the record that is missing or wrong, what was seen instead, and what happens meanwhile. */
export function nextStepOf({ list, domain }: Told): string {
  if (!domain) return 'Nothing to do. To send from a domain of your own, set the type custom_domain with a name, an address and the domain.'
  const { row, wanted } = domain
  const hints = row.findings.hints ?? []
  if (row.status === 'verified') return [...aboutVerified(list, row, wanted), ...hints].join(' ')
  return [...aboutOpen(row, wanted), meanwhile(list, row), ...hints].join(' ')
}

function aboutVerified(list: ListRow, row: SenderDomainRow, wanted: SenderRecord[]): string[] {
  const problems = problemsIn(wanted, row.findings.findings ?? {})
  if (row.failing_since !== null && problems.length > 0)
    return [
      `Mail still goes out from ${chosenAddressOf(list)}, but something is amiss: ${problems[0]}`,
      'Mend it within a day, or posts will wait until you have.',
    ]
  const successor = wanted.find(({ isSuccessor }) => isSuccessor)
  if (successor) return [`Add TXT ${successor.name}: mail is signed with the new key as soon as it is seen. Leave the old record in place.`]
  return [`Nothing to do: mail goes out from ${chosenAddressOf(list)}.`]
}

function aboutOpen(row: SenderDomainRow, wanted: SenderRecord[]): string[] {
  const { domain, trouble, last_checked_at } = row
  if (trouble === 'taken') return [`All records are right, but ${wayOutOfTaken(domain)}`]
  if (last_checked_at === null)
    return [
      `Add the records below to the DNS of ${domain}, where you registered it or keep its name servers. They are looked for every minute.`,
    ]
  const problems = firstOf(problemsIn(wanted, row.findings.findings ?? {}))
  return [
    ...opening(row),
    ...(problems.length > 0 ? problems : ['All records are there; the next check makes it good.']),
    ...(row.status === 'failed' ? ['When you have mended it, ask for a check.'] : []),
  ]
}

/** Whoever has the zone decides: a domain is lost with its DKIM record. */
export const wayOutOfTaken = (domain: string): string =>
  `another project on this server sends from ${domain}. It may let the domain go. Or remove its DKIM records from the DNS, those at ph…._domainkey.${domain} that are not among yours: when they have been gone for a day, the domain is yours by itself.`

function opening({ status, trouble, domain }: SenderDomainRow): string[] {
  if (status !== 'failed') return []
  if (trouble === 'late') return [`Within 72 hours the records of ${domain} were not found.`]
  if (trouble === 'gone') return [`The records of ${domain} are gone.`]
  return []
}

const meanwhile = (list: ListRow, row: SenderDomainRow): string =>
  isLost(row)
    ? 'Until then posts wait: from another address, readers and their mail servers would not know them. To send from the default address anyway, delete this sender.'
    : `Until then mail goes out from ${list.mailbox_address}, and answers to it go to ${list.reply_to ?? chosenAddressOf(list)}.`
