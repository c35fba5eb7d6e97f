import type { Config } from '../../base/config.ts'
import { isLocalUrl } from '../../base/local-url.ts'
import type { Log } from '../../base/log.ts'

type Settings = Pick<Config, 'OUTBOUND' | 'PUBLIC_URL' | 'SIGN_UPS' | 'AGENT_SIGN_UPS' | 'MAIL_DOMAIN'>

/** Who may come in without having been asked, where that means real mail: on an installation that the world can reach, and that sends. */
export function strangersMay({ OUTBOUND, PUBLIC_URL, SIGN_UPS, AGENT_SIGN_UPS }: Settings): { may: string[]; next: string } {
  const isClosed = OUTBOUND === 'capture' || isLocalUrl(PUBLIC_URL)
  const doors = [
    { isOpen: !AGENT_SIGN_UPS.includes('off'), may: 'register agents (AGENT_SIGN_UPS)', close: 'AGENT_SIGN_UPS=off' },
    { isOpen: SIGN_UPS === 'open', may: 'make accounts (SIGN_UPS)', close: 'SIGN_UPS=invited' },
  ].filter(({ isOpen }) => isOpen && !isClosed)
  const next = `If that is not wanted, set ${doors.map(({ close }) => close).join(' and ')}. PLANS says how much they may send.`
  return { may: doors.map(({ may }) => may), next }
}

/** Once, when the program starts. */
export function warnOfOpenDoors({ config, log }: { config: Settings; log: Log }): void {
  const { may, next } = strangersMay(config)
  if (may.length > 0) log.warn({ may, next }, `strangers may send mail in the name of ${config.MAIL_DOMAIN}`)
}
