import { isTrouble, type LookUps } from '../../dns/index.ts'
import { type Answers, type Finding, found, missing, unknown, valuesOf, wrong } from '../dns-records/index.ts'
import { diagnose } from './diagnose.ts'
import { dmarcRecordFor, type SenderRecord } from './records.ts'
import { surveySender } from './survey.ts'

export interface MailDomain {
  domain: string
  /** What the keys that sign now need in DNS. */
  keys: { name: string; value: string }[]
}

export interface MailDomainFindings {
  /** One for each key. */
  dkim: Finding[]
  spf: Finding
  dmarc: Finding
}

/** MAIL_DOMAIN needs what the domains of senders do, and is looked at as they are; but for its return path, which is the domain itself. */
export async function lookAtMailDomain(lookUps: LookUps, { domain, keys }: MailDomain): Promise<MailDomainFindings> {
  const dkim = keys.map((key): SenderRecord => ({ ...key, key: key.name, kind: 'dkim', type: 'TXT', purpose: 'DKIM', isRequired: true }))
  const dmarc = dmarcRecordFor(domain)
  const wanted = [...dkim, dmarc]
  const answers = await surveySender(lookUps, domain, wanted)
  // Neither record has to do with hosts.
  const { findings } = diagnose({ domain, wanted, answers, hosts: { mx: '', target: '' } })
  const findingOf = ({ key }: SenderRecord) => findings[key] as Finding // every record has one
  return { dkim: dkim.map(findingOf), spf: diagnoseSpf(domain, answers), dmarc: findingOf(dmarc) }
}

function diagnoseSpf(domain: string, answers: Answers): Finding {
  const question = `TXT ${domain}`
  const answer = answers[question]
  if (answer && isTrouble(answer)) return unknown({ type: 'TXT', name: domain }, answer)
  const policies = valuesOf(answers, question).filter((text) => /^v=spf1(\s|$)/i.test(text))
  if (policies.length === 0) return missing(`${domain} has no SPF record.`)
  // RFC 7208 section 4.5.
  return policies.length === 1 ? found : wrong(`${domain} has ${policies.length} SPF records, and receivers count none.`)
}
