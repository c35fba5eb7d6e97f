import { Client } from 'pg'
import { reasonOf } from '../base/errors.ts'
import type { Log } from '../base/log.ts'
import { type Loop, startLoop } from '../base/loop.ts'
import type { ConnectionSettings } from './database.ts'

interface Listening {
  connection: ConnectionSettings
  log: Log
  channel: string
  /** Called with what was told. Without it, something may have been told that nobody heard. */
  hear(told?: string): void
}

const lookEveryMs = 1_000
/** How often the connection is asked whether it is still there: one whose other end vanished is silent as well. */
const checkEveryMs = 10_000

/**
 * Hears what other processes say with NOTIFY, over one connection of its own. It is opened again when it is lost; for as long as it
 * cannot be (a pooler that shares sessions lets nobody listen), `hear` is called once a second, so that who waits looks by themselves.
 */
export function startListening({ connection, log, channel, hear }: Listening): Loop {
  let ear: Client | null = null
  let checkedAt = 0

  const open = async (): Promise<Client> => {
    const client = new Client({
      ...connection,
      connectionTimeoutMillis: 5_000,
      query_timeout: 5_000,
      keepAlive: true,
      application_name: 'posthaste listen',
    })
    client.on('notification', ({ payload }) => hear(payload))
    // Without a listener, a server that shuts down takes this whole process with it.
    client.on('error', () => drop(client))
    client.on('end', () => drop(client))
    try {
      await client.connect()
      await client.query(`listen ${client.escapeIdentifier(channel)}`)
      return client
    } catch (error) {
      drop(client)
      throw error
    }
  }
  const drop = (client: Client) => {
    if (ear === client) ear = null
    // What cannot be closed any more is closed already.
    client.end().catch(() => {})
  }
  const look = async (): Promise<void> => {
    if (ear === null) {
      // Also when it opens: what was said since it was lost has not been heard.
      ear = await open().finally(() => hear())
      checkedAt = performance.now()
    } else if (performance.now() - checkedAt > checkEveryMs) {
      checkedAt = performance.now()
      const asked = ear
      await asked.query('select 1').catch((error: unknown) => {
        drop(asked)
        throw error
      })
    }
  }

  let isTold = false
  const loop = startLoop({
    name: `listen to ${channel}`,
    log,
    everyMs: lookEveryMs,
    async step() {
      try {
        await look()
        isTold = false
      } catch (error) {
        if (!isTold) log.warn({ channel, reason: reasonOf(error) }, 'cannot listen to the database; looking once a second instead')
        isTold = true
      }
      return false
    },
  })
  return {
    async stop() {
      await loop.stop()
      if (ear) drop(ear)
    },
  }
}
