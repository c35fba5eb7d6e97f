import type { Client } from 'pg'

/** What a PostgreSQL of somebody's own has to be. */
export interface ServerFitness {
  version: string
  isTooOld: boolean
  encoding: string
  /** Others lack letters that people write, and would refuse them one mail at a time. */
  isUtf8: boolean
}

export async function lookAtServer(client: Client): Promise<ServerFitness> {
  const { rows } = await client.query<{ version: string; number: string; encoding: string }>(
    `select current_setting('server_version') as version, current_setting('server_version_num') as number,
      current_setting('server_encoding') as encoding`,
  )
  const { version = '', number = '', encoding = '' } = rows[0] ?? {}
  return { version, isTooOld: Number(number) < 150_000, encoding, isUtf8: encoding === 'UTF8' }
}
