import assert from 'node:assert/strict'
import { checkDueSiteDomains } from '../../server/features/site-domains/index.ts'
import type { Driven } from './certificates.ts'
import type { DnsName, DnsPeer } from './dns-peer.ts'
import type { TestApp } from './posthaste.ts'
import type { Answer, TestProject } from './project.ts'
import { until } from './until.ts'

interface DnsRecord {
  type: string
  name: string
  value: string
  found: boolean
}

export interface DomainList {
  project: TestProject
  id: string
  subdomain: string
  path: string
  /** `blog1.example.test`, which nobody else has. */
  sub: string
  /** `example1.test`. */
  naked: string
  connect(domain: string, more?: object): Promise<Answer>
  disconnect(): Promise<Answer>
  get(): Promise<Answer['body']>
  check(): Promise<Answer['body']>
}

let number = 0

/** A list of a project of its own, or of one that is there. */
export async function newDomainList(app: TestApp, given: { project?: TestProject } = {}): Promise<DomainList> {
  const project = given.project ?? (await app.newProject())
  const own = ++number
  const { body: list } = await project.post('/lists', { name: `Site ${own}` })
  await project.events()
  const path = `/lists/${list.id}/site-domain`
  const ok = async (asked: Promise<Answer>) => {
    const answer = await asked
    assert.equal(answer.status, 200, JSON.stringify(answer.body))
    return answer.body
  }
  return {
    project,
    id: list.id,
    subdomain: list.subdomain,
    path,
    sub: `blog${own}.example.test`,
    naked: `example${own}.test`,
    connect: (domain, more = {}) => project.post(path, { domain, ...more }),
    disconnect: () => project.request('DELETE', path),
    get: () => ok(project.get(path)),
    check: async () => {
      // What was seen a moment ago would be told again.
      app.clock.advance(6_000)
      return ok(project.post(`${path}/check`))
    },
  }
}

/** The addresses of our own server, as every target has them. */
export const ourAddresses = { A: ['127.0.0.1'], AAAA: ['2001:db8::1'] }

/** Puts the records into the zone, all or some; an ALIAS is answered with the addresses of its target. */
export function addSiteRecords(dns: DnsPeer, records: DnsRecord[]): void {
  for (const { type, name, value } of records) {
    if (type !== 'TXT') dns.names[value] = ourAddresses
    const added: DnsName = type === 'CNAME' ? { CNAME: value } : type === 'ALIAS' ? ourAddresses : { TXT: [value] }
    dns.names[name] = { ...dns.names[name], ...added }
  }
}

/** From nothing to records that are all there. */
export async function connectWith(dns: DnsPeer, list: DomainList, domain: string, more: object = {}): Promise<DnsRecord[]> {
  const { status, body } = await list.connect(domain, more)
  assert.equal(status, 201, JSON.stringify(body))
  addSiteRecords(dns, body.records)
  return body.records
}

/** A naked domain: while the answer waits for it, the authority tells the value of the TXT record. */
export async function connectNaked({ app, drive }: Driven, list: DomainList, more: object = {}): Promise<Answer['body']> {
  const answered = list.connect(list.naked, more)
  await until('an order', () => app.services.database.first`select 1 from certificates where host = ${list.naked}`)
  await drive(list.naked, ({ step }) => step === 'proving')
  const { status, body } = await answered
  assert.equal(status, 201, JSON.stringify(body))
  // An answer may have waited long enough without.
  return list.get()
}

/** What the scheduler does every minute. */
export const runDueSites = (app: TestApp): Promise<void> => checkDueSiteDomains.run(app.services, {})

/** What the owner was told, in order. */
export const siteNotices = async (app: TestApp, { project }: DomainList): Promise<string[]> => {
  const rows = await app.services.database.many<{ subject: string }>`
    select mail->>'subject' as subject from messages where kind = 'site_domain' and recipient = ${project.email} order by id`
  return rows.map(({ subject }) => subject)
}
