import { formatDeliveryToken } from '../../base/delivery-token.ts'
import { type BroadcastId, formatId, type ProjectId } from '../../base/ids.ts'
import type { Secrets } from '../../base/secrets.ts'
import type { Database } from '../../database/database.ts'
import { type CompiledPost, compilePost } from '../../mail/compile/index.ts'
import type { DkimSigner } from '../../mail/dkim/sign.ts'
import type { Signers } from '../signing-keys.ts'
import type { Envelope } from '../transports/index.ts'
import type { BroadcastSource, Claimed } from './broadcast.ts'

export interface Rendered {
  envelope: Envelope
  message: Buffer[]
  message_id: string
  subject: string
}

export interface Renderer {
  render(delivery: Claimed): Promise<Rendered>
}

interface Prepared {
  source: BroadcastSource
  compiled: CompiledPost
  signer: DkimSigner | null
}

/** More broadcasts than this at once take turns at being compiled. */
const maxPrepared = 50

/** Compiles each broadcast once in this process; a recipient then costs the slots and the signature. */
export function createRenderer({ database, secrets, signers }: { database: Database; secrets: Secrets; signers: Signers }): Renderer {
  const prepared = new Map<BroadcastId, Promise<Prepared>>()
  const prepare = async (project_id: ProjectId, id: BroadcastId): Promise<Prepared> => {
    const row = await database.first<{ source: BroadcastSource }>`
      select source from broadcasts where project_id = ${project_id} and id = ${id}`
    if (!row) throw new Error('the broadcast is gone')
    const compiled = compilePost(row.source.post, row.source.frame)
    await storeLinks(database, { project_id, id }, compiled.links)
    const domain = row.source.frame.from.address.split('@').at(-1) as string
    return { source: row.source, compiled, signer: await signers.signerFor(domain) }
  }
  const preparedOf = ({ project_id, broadcast_id }: Claimed): Promise<Prepared> => {
    const known = prepared.get(broadcast_id)
    if (known) return known
    if (prepared.size >= maxPrepared) prepared.clear()
    const made = prepare(project_id, broadcast_id)
    prepared.set(broadcast_id, made)
    made.catch(() => prepared.delete(broadcast_id))
    return made
  }

  return {
    async render(delivery) {
      const { source, compiled, signer } = await preparedOf(delivery)
      const token = formatDeliveryToken(secrets, { kind: 'delivery', project_id: delivery.project_id, id: delivery.id })
      const message_id = `${formatId('dlv', delivery.id)}@${source.frame.message_id_domain}`
      const { email, name, contact } = delivery
      const { headers, body, message } = compiled.fill({ token, email, name, message_id, values: { contact: contact ?? {} } })
      const signature = signer ? [await signer.sign(headers, body)] : []
      return {
        envelope: { from: compiled.returnPath({ token }), to: delivery.email },
        message: [...signature, message],
        message_id,
        subject: source.post.subject,
      }
    },
  }
}

const storeLinks = (database: Database, { project_id, id }: { project_id: ProjectId; id: BroadcastId }, links: string[]) => database.run`
  insert into broadcast_links (project_id, broadcast_id, number, url)
  select ${project_id}, ${id}, (number - 1)::smallint, url from unnest(${links}::text[]) with ordinality as links (url, number)
  on conflict do nothing`
