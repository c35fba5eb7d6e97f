import type { Config } from '../../base/config.ts'
import { invalid } from '../../base/errors.ts'
import type { ProjectId } from '../../base/ids.ts'
import { reservedNames } from '../../base/slug.ts'
import type { Transaction } from '../../database/database.ts'
import type { Context } from '../../operations/context.ts'
import type { NewMailbox } from './mailbox.ts'
import { holdVerifiedDomain, isAddressUsed, isOwnersProject, lockName } from './mailbox-queries.ts'
import { makeNumberedName, makeReadableName } from './readable-name.ts'

type Settings = Pick<Config, 'MAIL_DOMAIN'>

/** Whether mail for this domain (in A-labels) comes here. */
export const isOwnDomain = ({ MAIL_DOMAIN }: Settings, domain: string): boolean => domain === MAIL_DOMAIN

/** Addresses that the program makes and reads by itself: nobody's mailbox, not even the operator's. */
const programNames = new Set(['b', 'bounce', 'bounces', 'unsubscribe', 'reply', 'mailerdaemon'])

/** `post.master` and `post-master` are `postmaster` to whoever reads them. */
const plain = (name: string): string => name.replace(/[._-]/g, '')
const plainReserved = new Set([...reservedNames].map(plain))

/** Everyday letters only: whoever sees the address can type it, any server can deliver to it, and no two look alike. */
const localForm = /^[a-z0-9](?:[a-z0-9._-]*[a-z0-9])?$/

interface Wanted {
  project_id: ProjectId
  address: NonNullable<NewMailbox['address']>
}

/** The address that somebody asks for, in small letters, if they may have it. Held until the transaction ends. */
export async function takeAddress(config: Settings, tx: Transaction, { project_id, address: { key } }: Wanted): Promise<string> {
  const at = key.lastIndexOf('@')
  const [local, domain] = [key.slice(0, at), key.slice(at + 1)]
  const isTheirs = !isOwnDomain(config, domain)
  if (isTheirs && !(await holdVerifiedDomain(tx, project_id, domain)))
    throw invalid('address', `must end with @${config.MAIL_DOMAIN}, or with a domain that is verified as a list’s sender`)
  if (local.includes('+')) throw invalid('address', 'must not have a +: mail to name+anything comes to name anyway')
  if (!localForm.test(local))
    throw invalid('address', 'may have letters a to z, digits, dots, hyphens and underscores before the @, and no sign at either end')
  // At a domain of their own they are whoever they like.
  const isKept = !isTheirs && plainReserved.has(plain(local)) && !(await isOwnersProject(tx, project_id))
  if (isKept || programNames.has(plain(local))) throw invalid('address', 'is kept for this installation itself; choose another')
  await lockName(tx, local)
  if (await isAddressUsed(tx, key, project_id)) throw invalid('address', 'is taken; choose another')
  return key
}

/** A readable address that nobody has. */
export async function makeAddress({ config, caller }: Context, tx: Transaction, wantedDomain?: string): Promise<string> {
  const domain = wantedDomain?.toLowerCase() ?? config.MAIL_DOMAIN
  if (!isOwnDomain(config, domain) && !(await holdVerifiedDomain(tx, caller.project_id, domain)))
    throw invalid('domain', `is no domain that mail comes here for. Leave it out to get an address at ${config.MAIL_DOMAIN}`)
  const name = await freeReadableName(tx, async (wanted) => !(await isAddressUsed(tx, `${wanted}@${domain}`, caller.project_id)))
  return `${name}@${domain}`
}

/** A few plain names are tried before one gets a number. Lists reach for these names, too: they take turns with us. */
export async function freeReadableName(tx: Transaction, isFree: (name: string) => Promise<boolean>): Promise<string> {
  for (let time = 1; ; time++) {
    const name = time <= 5 ? makeReadableName() : makeNumberedName()
    await lockName(tx, name)
    if (await isFree(name)) return name
  }
}
