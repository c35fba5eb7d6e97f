import assert from 'node:assert/strict'
import { readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { posthaste, temporaryFolder } from '../../tests/support/command-line.ts'
import { urlOf } from '../../tests/support/empty-database.ts'
import { startApp } from '../../tests/support/posthaste.ts'

const app = await startApp({ ROLES: 'http' })
const env = { DATABASE_URL: urlOf(app.connection) }
const folder = temporaryFolder()
const people = (from: number, to: number) =>
  Array.from({ length: to - from }, (_, index) => `reader${from + index}@example.com,Reader ${from + index}\n`).join('')

test('a file is imported into a list named by its subdomain, and exported again', async () => {
  const project = await app.newProject()
  const list = await project.post('/lists', { name: 'From a file' })
  const file = join(folder, 'people.csv')
  writeFileSync(file, `email,name\n${people(0, 5_000)}jörg@exämple.org,"Jörg ""J"" 😀"\n`)
  const imported = await posthaste(['import', file, '--list', list.body.subdomain], env)
  assert.equal(imported.code, 0, imported.stderr)
  assert.match(imported.stdout, /^Imported 5,001 into "From a file"; 0 skipped \(\d+\.\d s, [\d,]+ rows\/s\)\.\n$/)
  assert.equal(imported.stderr, '')
  assert.equal((await project.get(`/lists/${list.body.id}`)).body.subscriber_count, 5_001)

  const out = join(folder, 'out.csv')
  const exported = await posthaste(['export', '--list', list.body.id, '--out', out], env)
  assert.equal(exported.code, 0, exported.stderr)
  assert.equal(statSync(out).mode & 0o777, 0o600)
  const lines = readFileSync(out, 'utf8').trimEnd().split('\r\n')
  assert.equal(lines.length, 5_002)
  assert.match(lines.find((line) => line.includes('Jörg')) ?? '', /^jörg@.*,"Jörg ""J"" 😀",active,import,/)
  const printed = await posthaste(['export', '--list', list.body.id], env)
  assert.equal(printed.stdout, readFileSync(out, 'utf8'))
  const audit = await app.services.database.many`
    select 1 from audit_log where operation = 'subscribers.import' and target->>'listId' = ${list.body.id}`
  assert.equal(audit.length, 1)
})

test('from standard input; the first lines that are left out are shown, and all are written down when asked', async () => {
  const project = await app.newProject()
  const list = await project.post('/lists', { name: 'From a pipe' })
  const bad = Array.from({ length: 30 }, (_, index) => `nobody${index}\u001b[2J,\n`).join('')
  const text = `email,name\n${people(0, 10)}${bad}`
  const shown = await posthaste(['import', '-', '--list', list.body.id], env, text)
  assert.match(shown.stdout, /^Imported 10 into "From a pipe"; 30 skipped/)
  const lines = shown.stderr.trimEnd().split('\n')
  assert.equal(lines.length, 21)
  assert.match(lines[0] ?? '', /^ {2}nobody0 \[2J .*\(line 12\)$/)
  assert.match(lines[20] ?? '', /and 10 more: --errors FILE/)

  const errors = join(folder, 'errors.csv')
  const written = await posthaste(['import', '-', '--list', list.body.id, '--errors', errors], env, text)
  assert.match(written.stdout, /^Imported 0 into "From a pipe"; 40 skipped/)
  assert.equal(written.stderr, '')
  assert.equal(readFileSync(errors, 'utf8').trimEnd().split('\r\n').length, 41)
})

test('what cannot be is told', async () => {
  const list = await (await app.newProject()).post('/lists', { name: 'Known' })
  const [file, unknown, csv, target] = await Promise.all([
    posthaste(['import', join(folder, 'none.csv'), '--list', list.body.id], env),
    posthaste(['import', '-', '--list', 'unknown-list'], env),
    posthaste(['import', '-', '--list', list.body.id], env, 'first,second\na,b\n'),
    posthaste(['export', '--list', list.body.id, '--out', join(folder, 'none', 'out.csv')], env),
  ])
  assert.match(file.stderr, /^There is no file .*none\.csv\.\n$/)
  assert.match(unknown.stderr, /^There is no list "unknown-list"\. There are: known, /)
  assert.match(csv.stderr, /^body: has no column named "email"/)
  assert.match(target.stderr, /out\.csv\.partial cannot be written \(ENOENT\)\.\n$/)
  for (const { code } of [file, unknown, csv, target]) assert.equal(code, 1)
})
