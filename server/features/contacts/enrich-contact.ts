import { isDeepStrictEqual } from 'node:util'
import { invalid } from '../../base/errors.ts'
import type { ContactId, ProjectId } from '../../base/ids.ts'
import type { Transaction } from '../../database/database.ts'
import { publish } from '../../events/publish.ts'
import { type ContactRow, contactEventData } from './contact.ts'
import { insertContact, lockContact, lockContactByEmail, saveContact } from './contact-queries.ts'

const maxLabels = 200
const maxMetadataBytes = 65_536

/** What a caller knows of a person. Labels are added, metadata merged one level deep, the rest written over. */
export interface KnownOfContact {
  email: { address: string; key: string }
  name?: string | undefined
  tags?: string[] | undefined
  metadata?: Record<string, unknown> | undefined
  org?: string | undefined
  job_title?: string | undefined
}

/** The contact behind an address, made or enriched, with the event that tells of it. Two at once end in one contact. */
export async function enrichContact(tx: Transaction, project_id: ProjectId, known: KnownOfContact): Promise<ContactRow> {
  const { address: email, key: email_key } = known.email
  const existing = await lockContactByEmail(tx, project_id, email_key)
  const made = existing ? null : await insertContact(tx, { project_id, email, email_key, name: known.name ?? null })
  const before = existing ?? made ?? (await lockContactByEmail(tx, project_id, email_key))
  if (!before) return enrichContact(tx, project_id, known) // deleted between our insert and our look
  const wanted = merge(before, known)
  refuseTooMuch(wanted)
  const contact = isDeepStrictEqual(wanted, before) ? before : ((await saveContact(tx, wanted)) as ContactRow)
  if (made) await publish(tx, project_id, 'contact.created', contactEventData(contact))
  else if (contact !== before) await publish(tx, project_id, 'contact.updated', contactEventData(contact))
  return contact
}

/** The contact behind an address that a stranger typed. What they say of somebody names nobody: whoever it is confirms first. */
export async function meetByForm(tx: Transaction, project_id: ProjectId, { email: typed }: KnownOfContact): Promise<ContactRow> {
  const { address: email, key: email_key } = typed
  const existing = await lockContactByEmail(tx, project_id, email_key)
  if (existing) return existing
  const made = await insertContact(tx, { project_id, email, email_key, name: null })
  if (!made) return meetByForm(tx, project_id, { email: typed }) // somebody else met them between our look and our insert
  await publish(tx, project_id, 'contact.created', contactEventData(made))
  return made
}

/** Each request is bounded, and so must be what they add up to: it is stored, and copied into every event of the contact. */
function refuseTooMuch({ labels, metadata }: ContactRow): void {
  if (labels.length > maxLabels) throw invalid('tags', `would give this contact more than ${maxLabels} labels`)
  if (Buffer.byteLength(JSON.stringify(metadata)) > maxMetadataBytes)
    throw invalid('metadata', `would grow beyond ${maxMetadataBytes} bytes for this contact`)
}

const merge = (contact: ContactRow, known: KnownOfContact): ContactRow => ({
  ...contact,
  name: known.name ?? contact.name,
  org: known.org ?? contact.org,
  job_title: known.job_title ?? contact.job_title,
  labels: [...new Set([...contact.labels, ...(known.tags ?? [])])],
  metadata: { ...contact.metadata, ...known.metadata },
})

/** The name that somebody has on a list, for a contact that has none. */
export async function nameContact(
  tx: Transaction,
  subscriber: { project_id: ProjectId; contact_id: ContactId; name: string | null },
): Promise<void> {
  const { project_id, contact_id, name } = subscriber
  if (name !== null && (await lockContact(tx, project_id, contact_id))?.name === null) await renameContact(tx, project_id, contact_id, name)
}

/** A name changed on one list is the person's name. */
export async function renameContact(tx: Transaction, project_id: ProjectId, id: ContactId, name: string | null): Promise<void> {
  const contact = await lockContact(tx, project_id, id)
  if (!contact || contact.name === name) return
  const renamed = (await saveContact(tx, { ...contact, name })) as ContactRow
  await publish(tx, project_id, 'contact.updated', contactEventData(renamed))
}
