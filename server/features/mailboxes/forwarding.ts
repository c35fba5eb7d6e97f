import type { Config } from '../../base/config.ts'
import { invalid } from '../../base/errors.ts'
import { parseAddress } from '../../mail/address.ts'
import type { MailboxRow } from './mailbox.ts'
import { isOwnDomain } from './mailbox-address.ts'

/** A config as it may be kept. A proxy mailbox must say where mail goes, and not back to where it came from: that would go round. */
export function checkConfig(settings: Pick<Config, 'MAIL_DOMAIN'>, type: MailboxRow['type'], config: MailboxRow['config']) {
  if (type !== 'proxy') return config
  const given = config?.forward_to
  if (typeof given !== 'string')
    throw invalid('config.forward_to', 'is required for a proxy mailbox: the address that it passes mail on to')
  const parsed = parseAddress(given)
  if (!parsed.ok) throw invalid('config.forward_to', parsed.problem)
  if (isOwnDomain(settings, parsed.value.domain))
    throw invalid('config.forward_to', `must be an address elsewhere, not at ${settings.MAIL_DOMAIN}: mail could go round in circles`)
  return { ...config, forward_to: parsed.value.address }
}
