import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { promisify } from 'node:util'
import { newId } from '../../base/ids.ts'
import { headersOf } from './sign-delivery.ts'
import { makeWebhookSecret } from './webhook.ts'

/**
 * The code that docs/webhooks.md gives to receivers, cut out of the document and run as it stands there, with deliveries that we signed
 * and with forged ones. Around it is only what calls it and prints the answers.
 */
const document = readFileSync(new URL('../../../docs/webhooks.md', import.meta.url), 'utf8')
const snippetOf = (title: string): string =>
  new RegExp(`^### ${title}\\n[^]*?^\`\`\`\\w+\\n([^]*?)^\`\`\``, 'm').exec(document)?.[1] ??
  assert.fail(`docs/webhooks.md has no code for ${title}`)

const folder = mkdtempSync(join(tmpdir(), 'posthaste-snippets-'))
after(() => rmSync(folder, { recursive: true, force: true }))
const write = (name: string, text: string): string => {
  const file = join(folder, name)
  writeFileSync(file, text)
  return file
}
const exec = promisify(execFile)

interface Case {
  about: string
  secret: string
  headers: Record<string, string>
  body: string
  /** Of `verify` and of `verifyBody`. */
  expected: [boolean, boolean]
}

const body = '{"id":"evt_1","type":"post.sent","data":{"subject":"Grüße, 世界 🎉 \'$HOME\' 100%"}}\n'
const [secret, older] = [makeWebhookSecret(), makeWebhookSecret()]
const casesFile = join(folder, 'cases.json')

/** Made right before they are needed: what is older than five minutes is refused. */
function makeCases(): Case[] {
  const now = new Date()
  const about = { delivery_id: newId<'whd'>(), event_id: newId<'evt'>(), type: 'post.sent', body, now }
  const signed = (signing: Parameters<typeof headersOf>[0]['signing'], at = now) =>
    Object.fromEntries(Object.entries(headersOf({ ...about, signing, now: at })).map(([name, value]) => [name.toLowerCase(), value]))
  const genuine = signed({ secret, previous: null })
  const rotated = signed({ secret, previous: { secret: older, until: new Date(now.getTime() + 1_000) } })
  const ago = (ms: number) => new Date(now.getTime() - ms)
  const one = { secret, headers: genuine, body }
  return [
    { ...one, about: 'genuine', expected: [true, true] },
    { ...one, about: 'with an empty body', body: '', expected: [false, false] },
    { ...one, about: 'with another body', body: body.replace('post.sent', 'post.seen'), expected: [false, false] },
    { ...one, about: 'without the last letter', body: body.slice(0, -1), expected: [false, false] },
    { ...one, about: 'with another secret', secret: older, expected: [false, false] },
    { ...one, about: 'with another id', headers: { ...genuine, 'webhook-id': 'evt_2' }, expected: [false, true] },
    { ...one, about: 'an hour old', headers: signed({ secret, previous: null }, ago(3_600_000)), expected: [false, true] },
    { ...one, about: 'from an hour ahead', headers: signed({ secret, previous: null }, ago(-3_600_000)), expected: [false, true] },
    {
      ...one,
      about: 'with a new time on an old signature',
      headers: { ...genuine, 'webhook-timestamp': timeOf(ago(60_000)) },
      expected: [false, true],
    },
    { ...one, about: 'rotated, by the new secret', headers: rotated, expected: [true, true] },
    { ...one, about: 'rotated, by the old secret', secret: older, headers: rotated, expected: [true, false] },
    {
      ...one,
      about: 'with empty signatures',
      headers: { ...genuine, 'webhook-signature': '', 'x-service-signature': '' },
      expected: [false, false],
    },
    {
      ...one,
      about: 'with half a signature',
      headers: {
        ...genuine,
        'webhook-signature': genuine['webhook-signature']!.slice(0, 20),
        'x-service-signature': genuine['x-service-signature']!.slice(0, 20),
      }, // signed above
      expected: [false, false],
    },
    {
      ...one,
      about: 'with a signature of another version first',
      headers: { ...genuine, 'webhook-signature': `v2,AAAA ${genuine['webhook-signature']}` },
      expected: [true, true],
    },
  ]
}
const timeOf = (date: Date): string => String(Math.floor(date.getTime() / 1000))

/** Runs what prints a pair for each case: what `verify` and `verifyBody` say. */
async function check(command: string, args: string[], cases = makeCases()): Promise<void> {
  writeFileSync(casesFile, JSON.stringify(cases))
  const { stdout } = await exec(command, args)
  const told = cases.map(({ about }, index) => ({ about, expected: JSON.parse(stdout)[index] }))
  assert.deepEqual(
    told,
    cases.map(({ about, expected }) => ({ about, expected })),
  )
}

/** False, and a line that says so, for a language that this machine does not have. */
async function isThere(command: string, ...args: string[]): Promise<boolean> {
  try {
    await exec(command, args)
    return true
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
    console.log(`${command} is not installed here: its code in docs/webhooks.md was not run`)
    return false
  }
}

test('Node', async () => {
  write('verify.mjs', snippetOf('Node'))
  const main = write(
    'main.mjs',
    `import { readFileSync } from 'node:fs'
import { verify, verifyBody } from './verify.mjs'
const cases = JSON.parse(readFileSync(process.argv[2], 'utf8'))
console.log(JSON.stringify(cases.map(({ secret, headers, body }) => [verify(secret, headers, Buffer.from(body)), verifyBody(secret, headers, body)])))`,
  )
  await check(process.execPath, [main, casesFile])
})

test('Python', async (context) => {
  if (!(await isThere('python3', '--version'))) return context.skip('no python3')
  write('verify.py', snippetOf('Python'))
  const main = write(
    'main.py',
    `import json, sys
from verify import verify, verify_body
cases = json.load(open(sys.argv[1], encoding="utf-8"))
print(json.dumps([[f(c["secret"], c["headers"], c["body"].encode()) for f in (verify, verify_body)] for c in cases]))`,
  )
  await check('python3', [main, casesFile])
})

test('Go', async (context) => {
  if (!(await isThere('go', 'version'))) return context.skip('no go')
  const verify = write('verify.go', snippetOf('Go'))
  const main = write(
    'main.go',
    `package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
)

type delivery struct {
	Secret  string
	Headers map[string]string
	Body    string
}

func main() {
	text, err := os.ReadFile(os.Args[1])
	if err != nil {
		panic(err)
	}
	var cases []delivery
	if err := json.Unmarshal(text, &cases); err != nil {
		panic(err)
	}
	answers := [][2]bool{}
	for _, one := range cases {
		header := http.Header{}
		for name, value := range one.Headers {
			header.Set(name, value)
		}
		answers = append(answers, [2]bool{verify(one.Secret, header, []byte(one.Body)), verifyBody(one.Secret, header, []byte(one.Body))})
	}
	printed, _ := json.Marshal(answers)
	fmt.Println(string(printed))
}
`,
  )
  const program = join(folder, 'verify')
  await exec('go', ['build', '-o', program, verify, main], { env: { ...process.env, GO111MODULE: 'off', GOFLAGS: '' } })
  await check(program, [casesFile])
})

test('PHP', async (context) => {
  if (!(await isThere('php', '--version'))) return context.skip('no php')
  write('verify.php', snippetOf('PHP'))
  const main = write(
    'main.php',
    `<?php
require __DIR__ . '/verify.php';
$cases = json_decode(file_get_contents($argv[1]), true);
echo json_encode(array_map(fn ($c) => [verify($c['secret'], $c['headers'], $c['body']), verify_body($c['secret'], $c['headers'], $c['body'])], $cases));`,
  )
  await check('php', [main, casesFile])
})

test('Shell', async (context) => {
  if (!(await isThere('openssl', 'version'))) return context.skip('no openssl')
  const cases = makeCases()
  const bodies = cases.map((one, index) => write(`body-${index}`, one.body))
  const quoted = (text: string) => `'${text.replaceAll("'", `'\\''`)}'`
  const calls = cases.map(({ secret: key, headers }, index) => {
    const [file, id, time] = [bodies[index] ?? '', headers['webhook-id'] ?? '', headers['webhook-timestamp'] ?? '']
    const standard = ['verify', key, file, id, time, headers['webhook-signature'] ?? '']
    const plain = ['verify_body', key, file, headers['x-service-signature'] ?? '']
    return `printf '[%s,%s]' "$(say ${standard.map(quoted).join(' ')})" "$(say ${plain.map(quoted).join(' ')})"`
  })
  const script = `${snippetOf('Shell')}\nsay() { if "$@"; then printf true; else printf false; fi; }\nprintf '['\n${calls.join("\nprintf ','\n")}\nprintf ']'\n`
  await check('sh', [write('verify.sh', script)], cases)
})
