import type { Client } from 'pg'
import type { Config } from '../base/config.ts'
import { portProblem } from '../base/port.ts'
import type { Check } from './doctor-check.ts'

export async function checkHttpsPort({ HOST, HTTPS_PORT, ROLES }: Config): Promise<Check> {
  const name = 'https port'
  if (HTTPS_PORT === null) return { name, state: 'good', seen: 'not set: a proxy in front does TLS' }
  if (!ROLES.includes('http')) return { name, state: 'good', seen: `not needed: ROLES is ${ROLES.join(',')}` }
  const problem = await portProblem(HOST, HTTPS_PORT)
  if (problem === null) return { name, state: 'good', seen: `${HTTPS_PORT} is free` }
  if (problem === 'EADDRINUSE')
    return { name, state: 'warning', seen: `${HTTPS_PORT} is in use`, next: 'If that is not Posthaste, choose another: HTTPS_PORT=8443.' }
  const seen = `${HOST}, port ${HTTPS_PORT} cannot be opened (${problem})`
  return { name, state: 'bad', seen, next: 'Choose another: HTTPS_PORT=8443, or another HOST.' }
}

/** A database that was not migrated yet has no table for them. */
export async function hasCertificates(client: Client): Promise<boolean> {
  const { rows } = await client.query<{ known: string | null }>(`select to_regclass('public.certificates')::text as known`)
  return rows[0]?.known !== null
}

interface TroubledRow {
  host: string
  problem: string | null
  is_ending: boolean
}

const mostShown = 3

/** Those that are there, and those that are late: wanted for a day and not there, or in the last sixth of their life. */
export async function checkCertificates(client: Client): Promise<Check> {
  const name = 'certificates'
  const { rows: counted } = await client.query<{ count: string }>('select count(*) as count from certificates where chain is not null')
  const { rows } = await client.query<TroubledRow>(`
    select host, problem, chain is not null as is_ending from certificates
    where (chain is null and created_at < now() - interval '1 day') or now() > not_after - (not_after - not_before) / 6
    order by project_id nulls first, host`)
  const seen = `${counted[0]?.count ?? 0} issued`
  if (rows.length === 0) return { name, state: 'good', seen }
  const shown = rows.slice(0, mostShown).map(({ host, problem, is_ending }) => {
    const what = is_ending ? 'is about to end' : 'has none after a day'
    return problem === null ? `${host} ${what}` : `${host} ${what} (${problem})`
  })
  const more = rows.length > mostShown ? `, and ${rows.length - mostShown} more` : ''
  return {
    name,
    state: 'warning',
    seen: `${seen}; ${shown.join('; ')}${more}`,
    next: 'Look whether these hosts lead here, and whether port 80 reaches this program.',
  }
}
