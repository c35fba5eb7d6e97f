import { newId } from '../../base/ids.ts'
import { rawKey } from '../../blobs/blob-store.ts'
import { type Kept, keptKey, maxKeptBytes } from '../raw-mail/index.ts'
import type { Destination } from './filed-mail.ts'
import { replyKey } from './pass-on-replies.ts'
import type { Routes } from './route-mail.ts'

/** Where the raw messages of a batch will lie. */
export interface RawPlaces {
  /** The `raw_key` of the e-mail: one for each message and project. */
  keyOf(destination: Pick<Destination, 'mail' | 'mailbox'>): string
  /** By the id of the message: what stays where it is. */
  kept: Map<string, Kept>
  /** What has to be in the blob store before the spool lets go of it. */
  stored: Map<string, Buffer>
}

/** A small message stays with the first project that it is for; others get a copy in the blob store, as everybody gets of a large one. */
export function placeRaw({ destinations, replies }: Routes): RawPlaces {
  const kept = new Map<string, Kept>()
  const stored = new Map(replies.map((reply) => [replyKey(reply), reply.mail.message.raw]))
  const keyOf: RawPlaces['keyOf'] = ({ mail: { message }, mailbox: { project_id } }) => {
    const stays = kept.get(message.id)
    return stays?.project_id === project_id ? keptKey(stays.kept_id) : rawKey(project_id, message.id)
  }
  for (const destination of destinations) {
    const { message } = destination.mail
    const { project_id } = destination.mailbox
    if (message.raw.length <= maxKeptBytes && !kept.has(message.id)) kept.set(message.id, { id: message.id, kept_id: newId(), project_id })
    else if (kept.get(message.id)?.project_id !== project_id) stored.set(keyOf(destination), message.raw)
  }
  return { keyOf, kept, stored }
}
