import assert from 'node:assert/strict'
import { test } from 'node:test'
import { readConfig } from '../../base/config.ts'
import { canonicalUrl, defaultSiteUrl } from './site-url.ts'

test('a site says that it is at a name below the installation’s, or at a path where the operator has no such names', () => {
  const urlOf = (env: Record<string, string>) => defaultSiteUrl(readConfig(env), 'letters')
  assert.equal(urlOf({ PUBLIC_URL: 'https://news.example.com' }), 'https://letters.news.example.com')
  assert.equal(urlOf({ PUBLIC_URL: 'https://news.example.com', SITES_AT: 'path' }), 'https://news.example.com/s/letters')
  assert.equal(urlOf({ PUBLIC_URL: 'http://192.0.2.1:8080' }), 'http://192.0.2.1:8080/s/letters')
  assert.equal(urlOf({ PUBLIC_URL: 'http://[2001:db8::1]:8080' }), 'http://[2001:db8::1]:8080/s/letters')
})

test('a domain of its own goes before both', () => {
  const config = readConfig({ PUBLIC_URL: 'https://news.example.com', SITES_AT: 'path' })
  assert.equal(canonicalUrl(config, { subdomain: 'letters', domain: 'letters.example.org' }), 'https://letters.example.org')
  assert.equal(canonicalUrl(config, { subdomain: 'letters', domain: null }), 'https://news.example.com/s/letters')
})
