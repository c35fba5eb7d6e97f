import type { Transaction } from '../../database/database.ts'
import type { Move } from './merge-queries.ts'

/**
 * Domains go with the lists of a project that becomes part of another. Where both have one, the verified one stays, or else the one that
 * was there; the keys of the other have signed nothing that counts.
 */
export async function moveSenders(tx: Transaction, { from, to }: Move): Promise<void> {
  const both = await tx.many<{ domain: string; takes_theirs: boolean }>`
    select theirs.domain, theirs.status = 'verified' as takes_theirs
    from sender_domains theirs join sender_domains mine on mine.project_id = ${to} and mine.domain = theirs.domain
    where theirs.project_id = ${from} order by theirs.domain for update`
  for (const { domain, takes_theirs } of both) {
    const project_id = takes_theirs ? to : from
    await tx.run`delete from sender_domains where project_id = ${project_id} and domain = ${domain}`
    await tx.run`delete from dkim_keys where project_id = ${project_id} and domain = ${domain} and status <> 'retired'`
  }
  await tx.run`update sender_domains set project_id = ${to} where project_id = ${from}`
  await tx.run`update dkim_keys set project_id = ${to} where project_id = ${from}`
  await tx.run`
    update warm_ups w set project_id = ${to}
    where project_id = ${from} and not exists (select 1 from warm_ups mine where mine.project_id = ${to} and mine.domain = w.domain)`
  await tx.run`delete from warm_ups where project_id = ${from}`
}
