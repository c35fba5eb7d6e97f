import assert from 'node:assert/strict'
import { checkDueDomains } from '../../server/features/senders/index.ts'
import type { DnsName, DnsPeer } from './dns-peer.ts'
import type { TestApp } from './posthaste.ts'
import type { Answer, TestProject } from './project.ts'

export interface SenderList {
  project: TestProject
  id: string
  path: string
  domain: string
  put(body: object): Promise<Answer>
  get(): Promise<Answer['body']>
  check(): Promise<Answer['body']>
}

interface DnsRecord {
  type: string
  name: string
  value: string
  found: boolean
}

let number = 0

/** A list of a project of its own, or of one that is there, with a domain that nobody else has. */
export async function newSenderList(app: TestApp, given: { project?: TestProject; domain?: string } = {}): Promise<SenderList> {
  const project = given.project ?? (await app.newProject())
  const own = ++number
  const { body: list } = await project.post('/lists', { name: `Sender ${own}` })
  const path = `/lists/${list.id}/sender`
  const put = (body: object) =>
    project.request('PUT', path, { body: JSON.stringify(body), headers: { 'content-type': 'application/json' } })
  const ok = async (asked: Promise<Answer>) => {
    const answer = await asked
    assert.equal(answer.status, 200, JSON.stringify(answer.body))
    return answer.body
  }
  return {
    project,
    id: list.id,
    path,
    domain: given.domain ?? `d${own}.example.test`,
    put,
    get: () => ok(project.get(path)),
    check: async () => {
      // What was seen a moment ago would be told again.
      app.clock.advance(6_000)
      return ok(project.post(`${path}/check`))
    },
  }
}

/** `hello@domain`, named Ann. */
export async function setUp(list: SenderList): Promise<DnsRecord[]> {
  const { status, body } = await list.put({ type: 'custom_domain', name: 'Ann', email: 'hello', domain: list.domain })
  assert.equal(status, 200, JSON.stringify(body))
  return body.records
}

/** Puts the records into the zone, all or some. */
export function addRecords(dns: DnsPeer, domain: string, records: DnsRecord[]): void {
  dns.names[domain] ??= {}
  for (const { type, name, value } of records) {
    const [preference, host] = value.split(' ') as [string, string]
    const added: DnsName = type === 'CNAME' ? { CNAME: value } : type === 'MX' ? { MX: [[Number(preference), host]] } : { TXT: [value] }
    dns.names[name] = { ...dns.names[name], ...added }
  }
}

/** From nothing to verified. */
export async function verifySender(dns: DnsPeer, list: SenderList): Promise<DnsRecord[]> {
  const records = await setUp(list)
  addRecords(dns, list.domain, records)
  const { status, next_step } = await list.check()
  assert.equal(status, 'verified', next_step)
  return records
}

/** From verified to lost, as it happens: the records are gone, and three checks over a day miss them. */
export async function loseSender(app: TestApp, dns: DnsPeer, records: DnsRecord[]): Promise<void> {
  for (const { name } of records) delete dns.names[name]
  for (const hours of [6, 1, 24]) {
    app.clock.advance(hours * hourMs)
    await runDue(app)
  }
}

/** What the scheduler does every minute. */
export const runDue = (app: TestApp): Promise<void> => checkDueDomains.run(app.services, {})

export const minuteMs = 60_000
export const hourMs = 60 * minuteMs
