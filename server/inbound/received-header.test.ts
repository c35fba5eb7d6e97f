import assert from 'node:assert/strict'
import { test } from 'node:test'
import { countHops, formatReceived } from './received-header.ts'

const transfer = {
  id: '0190',
  received_at: new Date('2026-03-04T05:06:07Z'),
  peer: { address: '192.0.2.1', name: 'mx.example.com' },
  protocol: 'ESMTPS',
  by: 'posthaste.test',
  recipients: ['ann@posthaste.test'],
}

test('the trace line says who, by whom, how, for whom and when', () => {
  assert.equal(
    formatReceived(transfer),
    'Received: from mx.example.com ([192.0.2.1])\r\n\tby posthaste.test with ESMTPS id 0190\r\n\tfor <ann@posthaste.test>;\r\n\tWed, 04 Mar 2026 05:06:07 +0000\r\n',
  )
})

test('nobody learns who else got the message', () => {
  assert.doesNotMatch(formatReceived({ ...transfer, recipients: ['ann@posthaste.test', 'bob@posthaste.test'] }), /for|ann|bob/)
})

test('a name that a peer made up cannot break out of its place', () => {
  const line = formatReceived({ ...transfer, peer: { address: '2001:db8::1', name: 'x);(évil"<>;' } })
  assert.match(line, /^Received: from x\?\?\?\?vil\?\?\?\? \(\[IPv6:2001:db8::1\]\)\r\n\tby /)
})

test('hops are counted in the header section only', () => {
  const hops = 'Received: a\r\nrECEIVED: b\r\nX-Received: c\r\nSubject: Received: d\r\n'
  assert.equal(countHops(Buffer.from(`${hops}\r\nReceived: e\r\n`)), 2)
  assert.equal(countHops(Buffer.from(hops)), 2)
  assert.equal(countHops(Buffer.alloc(0)), 0)
})
