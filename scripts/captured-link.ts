import { setTimeout as sleep } from 'node:timers/promises'
import PostalMime from 'postal-mime'
import type { ConnectionSettings } from '../server/database/database.ts'
import { withClient } from '../tests/support/database.ts'

/** From the mails that were captured for somebody, once it is there. */
export async function linkTo(connection: ConnectionSettings, address: string, link: RegExp): Promise<string> {
  for (let time = 0; time < 300; time++) {
    const { rows } = await withClient(connection, (client) =>
      client.query<{ message: Buffer }>('select message from captured_messages where envelope_to = $1', [address]),
    )
    const mails = await Promise.all(rows.map(({ message }) => PostalMime.parse(message)))
    const [found] = link.exec(mails.map(({ text }) => text ?? '').join('\n')) ?? []
    if (found) return found
    await sleep(100)
  }
  throw new Error(`No mail with ${link} came for ${address}`)
}
