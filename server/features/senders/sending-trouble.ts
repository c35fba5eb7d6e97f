import type { Config } from '../../base/config.ts'
import { isLocalUrl } from '../../base/local-url.ts'
import { isForTrials } from '../../base/trial-name.ts'
import type { Queryable } from '../../database/database.ts'
import type { Services } from '../../operations/context.ts'
import { findStrayAddresses } from '../mailboxes/index.ts'

/** What makes real mail useless or worse, and how whoever runs the installation mends it. */
export interface SendingTrouble {
  seen: string
  next: string
}

type Settings = Pick<Config, 'OUTBOUND' | 'MAIL_DOMAIN' | 'PUBLIC_URL'>

/** While mail is captured nothing of it harms: that is how a trial begins. */
export function troubleInSettings({ OUTBOUND, MAIL_DOMAIN, PUBLIC_URL }: Settings): SendingTrouble[] {
  if (OUTBOUND === 'capture') return []
  const trial = {
    seen: `mail is sent from ${MAIL_DOMAIN}, a name for trials that is in nobody’s DNS`,
    next: 'Set MAIL_DOMAIN to a domain of yours, or OUTBOUND=capture to send nothing.',
  }
  const local = {
    seen: `links in mail lead to ${PUBLIC_URL}, which only this machine can open`,
    next: 'Set PUBLIC_URL to the address that readers reach this server by, or OUTBOUND=capture to send nothing.',
  }
  return [...(isForTrials(MAIL_DOMAIN) ? [trial] : []), ...(isLocalUrl(PUBLIC_URL) ? [local] : [])]
}

/** Lists and mailboxes keep the domain that they were made at. They can move once MAIL_DOMAIN is one to move to. */
export async function troubleWithAddresses(db: Queryable, { OUTBOUND, MAIL_DOMAIN }: Settings, now: Date): Promise<SendingTrouble[]> {
  if (OUTBOUND === 'capture' || isForTrials(MAIL_DOMAIN)) return []
  const strays = await findStrayAddresses(db, { mailDomain: MAIL_DOMAIN, now })
  return strays.map(({ domain, count, example }) => ({
    seen: `${count === 1 ? `the address ${example} is` : `${count} addresses, such as ${example}, are`} at ${domain}, which is neither MAIL_DOMAIN nor a verified sender`,
    next: `Run "posthaste move-addresses ${domain}", which puts ${MAIL_DOMAIN} in its place.`,
  }))
}

/** Once, when the program starts, in one line. */
export async function warnOfSending({
  database,
  config,
  clock,
  log,
}: Pick<Services, 'database' | 'config' | 'clock' | 'log'>): Promise<void> {
  const troubles = [...troubleInSettings(config), ...(await troubleWithAddresses(database, config, clock.now()))]
  if (troubles.length > 0) log.warn({ troubles }, 'mail that is sent now does more harm than good; "posthaste doctor" shows the same')
}
