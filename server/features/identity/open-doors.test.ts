import assert from 'node:assert/strict'
import { test } from 'node:test'
import { readConfig } from '../../base/config.ts'
import { createLog } from '../../base/log.ts'
import { strangersMay, warnOfOpenDoors } from './open-doors.ts'

const real = { OUTBOUND: 'smtp://relay.example.com', PUBLIC_URL: 'https://news.example.org' }
const [agents, accounts] = ['register agents (AGENT_SIGN_UPS)', 'make accounts (SIGN_UPS)']
const cases: [Record<string, string>, string[]][] = [
  [{}, []],
  [{ OUTBOUND: real.OUTBOUND }, []],
  [{ PUBLIC_URL: real.PUBLIC_URL }, []],
  [real, [agents, accounts]],
  [{ ...real, AGENT_SIGN_UPS: 'email' }, [agents, accounts]],
  [{ ...real, AGENT_SIGN_UPS: 'off' }, [accounts]],
  [{ ...real, SIGN_UPS: 'invited' }, [agents]],
  [{ ...real, SIGN_UPS: 'invited', AGENT_SIGN_UPS: 'off' }, []],
]

for (const [env, may] of cases)
  test(`strangers may ${may.join(', ') || 'send nothing'} with ${JSON.stringify(env)}, and the start says so`, () => {
    const config = readConfig(env)
    assert.deepEqual(strangersMay(config).may, may)
    const lines: unknown[] = []
    warnOfOpenDoors({ config, log: Object.assign(createLog('silent'), { warn: (_: object, line: string) => void lines.push(line) }) })
    assert.deepEqual(lines, may.length > 0 ? ['strangers may send mail in the name of news.example.org'] : [])
  })

test('what closes the open doors is named, and nothing else', () => {
  assert.match(strangersMay(readConfig(real)).next, /set AGENT_SIGN_UPS=off and SIGN_UPS=invited\. PLANS/)
  assert.match(strangersMay(readConfig({ ...real, SIGN_UPS: 'invited' })).next, /set AGENT_SIGN_UPS=off\. PLANS/)
})
