import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ownedDomain } from './mail-domain.ts'

test('a domain is known by what its owner registered; that of a large provider is nobody’s', () => {
  for (const [email_key, domain] of [
    ['a@example.com', 'example.com'],
    ['a@b.c.example.com', 'example.com'],
    ['a@example.co.uk', 'example.co.uk'],
    ['a@deep.example.co.uk', 'example.co.uk'],
    ['a@deep.abc.de', 'abc.de'],
    ['a@localhost', 'localhost'],
    ['a@gmail.com', null],
    ['a@yahoo.co.uk', null],
    ['a@sub.gmail.com', 'gmail.com'],
  ] as const)
    assert.equal(ownedDomain(email_key), domain, email_key)
})
