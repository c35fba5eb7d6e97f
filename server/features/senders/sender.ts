import { z } from 'zod'
import type { DomainKey } from '../../delivery/control.ts'
import { dnsRecord, line } from '../../operations/schemas.ts'
import { showRecords } from '../dns-records/index.ts'
import { chosenAddressOf, type ListRow } from '../lists/list.ts'
import { nextStepOf } from './next-step.ts'
import type { SenderRecord } from './records.ts'
import type { SenderDomainRow } from './sender-domain.ts'

export const SenderInfo = z
  .object({
    type: z.string().meta({ description: 'tinysend (the default sender) or custom_domain' }),
    from_address: z.string().meta({ description: 'The address that was chosen; mail goes out from it once the domain is verified' }),
    status: z.enum(['default', 'pending', 'verified', 'failed']),
    records: z.array(dnsRecord).meta({ description: 'What belongs into the domain’s DNS zone, in the order in which to add it' }),
    next_step: z.string().meta({ description: 'What to do now, in plain words' }),
  })
  .meta({ id: 'SenderInfo' })

export const NewSender = z.object({
  type: z
    .enum(['tinysend', 'default', 'custom_domain', 'external_mailbox'], {
      error: ({ input }) => (input === undefined ? 'is required: tinysend or custom_domain' : undefined),
    })
    .meta({ description: 'tinysend, or default: the list’s own mailbox. custom_domain: an address at a domain of yours' }),
  name: line(200).optional().meta({ description: 'Who it is from, as readers see it. Required for a domain' }),
  email: line(64).optional().meta({ description: 'The part before the @. Required for a domain' }),
  domain: line(253).optional().meta({ description: 'A domain of yours, in any script. Required for a domain' }),
})

/** What there is to say about a list's sender. */
export interface Sending {
  list: ListRow
  /** Null for the default sender. */
  domain: { row: SenderDomainRow; keys: DomainKey[]; wanted: SenderRecord[] } | null
}

export function toSenderInfo({ list, domain }: Sending): z.output<typeof SenderInfo> {
  const next_step = nextStepOf({ list, domain })
  if (!domain) return { type: 'tinysend', from_address: list.mailbox_address, status: 'default', records: [], next_step }
  const { findings = {} } = domain.row.findings
  return {
    type: 'custom_domain',
    from_address: chosenAddressOf(list) ?? list.mailbox_address,
    status: domain.row.status,
    records: showRecords(domain.wanted, findings),
    next_step,
  }
}
