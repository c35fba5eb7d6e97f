import type { Services } from '../../operations/context.ts'
import { ownedDomain } from './mail-domain.ts'

const gmail = new Set(['gmail.com', 'googlemail.com'])

/** The address behind its spellings: what follows a + goes to the same mailbox nearly everywhere, and Gmail does not read dots. */
export function plainAddress(email_key: string): string {
  const at = email_key.lastIndexOf('@')
  const [local, domain] = [email_key.slice(0, at), email_key.slice(at + 1)]
  const untagged = local.split('+')[0] || local
  return gmail.has(domain) ? `${untagged.replaceAll('.', '')}@gmail.com` : `${untagged}@${domain}`
}

/** What a person is known by among those who were referred: of no use to anybody without our key. */
export const personOf = ({ secrets }: Pick<Services, 'secrets'>, email_key: string): Buffer =>
  secrets.mac('waitlist_person', plainAddress(email_key))

/** The same for whoever owns the domain; null at a large provider. No address begins with an @. */
export function domainOwnerOf({ secrets }: Pick<Services, 'secrets'>, email_key: string): Buffer | null {
  const domain = ownedDomain(email_key)
  return domain === null ? null : secrets.mac('waitlist_person', `@${domain}`)
}
