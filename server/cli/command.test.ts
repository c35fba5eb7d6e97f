import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { posthaste, posthasteIn, temporaryFolder } from '../../tests/support/command-line.ts'
import { command, runCommand } from './command.ts'

const given: unknown[] = []
const greet = command({
  about: 'Say hello',
  operands: ['NAME'],
  options: {
    list: { type: 'string', value: 'LIST', required: true, about: 'Where' },
    title: { type: 'string', value: 'TITLE', about: 'How' },
    loud: { type: 'boolean', about: 'How loud' },
  },
  load: async () => async (input) => void given.push(input),
})
const usage = 'Usage: posthaste greet NAME --list LIST [--title TITLE] [--loud]'

test('a command gets its operands and options by name', async () => {
  await runCommand('greet', greet, ['Ada', '--list', 'news', '--loud'])
  await runCommand('greet', greet, ['--list=news', '-'])
  assert.deepEqual(given, [
    { name: 'Ada', list: 'news', loud: true },
    { name: '-', list: 'news', loud: false },
  ])
})

test('a wrong call is told in one sentence, with the usage', async () => {
  const wrong: [string[], string][] = [
    [['--list', 'news'], 'NAME is missing.'],
    [['Ada'], '--list is missing.'],
    [['Ada', 'Bob', '--list', 'news'], '"Bob" is more than this command takes.'],
    [['Ada', '--list'], '--list needs a value.'],
    [['Ada', '--list', 'news', '--loud=yes'], '--loud takes no value.'],
    [['Ada', '--list', 'news', '--sofly'], 'There is no option --sofly.'],
    [['Ada', '--list', 'news', '-x'], 'There is no option -x.'],
  ]
  for (const [args, problem] of wrong)
    await assert.rejects(runCommand('greet', greet, args), { name: 'Error', message: `${problem}\n${usage}` })
})

test('the program lists its commands, explains each, and refuses what it does not know', async () => {
  const [all, one, group, unknown] = await Promise.all([
    posthaste([], {}),
    posthaste(['import', '--help'], {}),
    posthaste(['help', 'keys'], {}),
    posthaste(['constructor'], {}),
  ])
  assert.equal(all.code, 0)
  assert.match(all.stdout, /^ {2}keys create +Make an API key/m)
  assert.match(one.stdout, /^Usage: posthaste import FILE --list LIST \[--errors FILE\]\n/)
  assert.match(one.stdout, /^ {2}--list LIST +The list’s id or subdomain$/m)
  assert.equal(group.code, 0)
  assert.doesNotMatch(group.stdout, /backup/)
  assert.equal(unknown.code, 1)
  assert.match(unknown.stderr, /^There is no command "constructor"/)
})

test('a bad setting and a database that is not there are told without a trace', async () => {
  const [setting, server, folder] = await Promise.all([
    posthaste(['keys', 'list'], { PORT: 'many' }),
    posthaste(['keys', 'list'], { DATABASE_URL: 'postgres://nobody@127.0.0.1:1/none' }),
    posthaste(['keys', 'list'], { DATA_DIR: '/tmp/posthaste-which-does-not-exist' }),
  ])
  assert.match(setting.stderr, /^PORT is "many", but .*\n$/)
  assert.match(server.stderr, /^PostgreSQL at 127\.0\.0\.1:1\/none cannot be reached: .*ECONNREFUSED.*\. Check DATABASE_URL.*\n$/)
  assert.match(folder.stderr, /^There is no database in \/tmp\/posthaste-which-does-not-exist yet\. Run "posthaste start" first.*\n$/)
  for (const { code } of [setting, server, folder]) assert.equal(code, 1)
})

test('settings may stand in a file .env beside where one is; what is set outside goes before it', async () => {
  const folder = temporaryFolder()
  writeFileSync(join(folder, '.env'), '# ours\nPORT=rubbish\nLOG_LEVEL="loud"\n')
  const both = await posthasteIn(folder, ['keys', 'list'], {})
  assert.equal(both.code, 1)
  assert.match(both.stderr, /PORT is "rubbish"/)
  const one = await posthasteIn(folder, ['keys', 'list'], { PORT: '8080' })
  assert.match(one.stderr, /LOG_LEVEL is "loud"/)
  assert.doesNotMatch(one.stderr, /PORT is/)
})
