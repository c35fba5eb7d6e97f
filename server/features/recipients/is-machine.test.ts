import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isMachine } from './is-machine.ts'

const people = [
  'Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/142.0.0.0 Safari/537.36',
  'Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/142.0.0.0 Safari/537.36 Edg/142.0.0.0',
  'Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.6 Safari/605.1.15',
  'Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/605.1.15 (KHTML, like Gecko)',
  'Mozilla/5.0 (iPhone; CPU iPhone OS 18_6 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Mobile/15E148',
  'Mozilla/5.0 (Linux; Android 15; Pixel 9) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/142.0.0.0 Mobile Safari/537.36',
  'Mozilla/5.0 (Windows NT 10.0; Win64; x64; rv:140.0) Gecko/20100101 Thunderbird/140.3.0',
  'Mozilla/5.0 (X11; Linux x86_64; rv:144.0) Gecko/20100101 Firefox/144.0',
  'Microsoft Office/16.0 (Windows NT 10.0; Microsoft Outlook 16.0.17928; Pro)',
  'Mozilla/4.0 (compatible; MSIE 7.0; Windows NT 10.0; Win64; x64; Trident/7.0; Microsoft Outlook 16.0.17928; ms-office; MSOffice 16)',
  'Outlook-Android/2.0',
  'Evolution 3.56.2',
  'Mozilla/5.0 (Windows NT 5.1; rv:11.0) Gecko Firefox/11.0 (via ggpht.com GoogleImageProxy)',
]

const machines = [
  'Mozilla/5.0',
  'YahooMailProxy; https://help.yahoo.com/kb/yahoo-mail-proxy-SLN28749.html',
  'Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/42.0.2311.135 Safari/537.36 Edge/12.246 Mozilla/5.0',
  'Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)',
  'Mozilla/5.0 (Windows NT 6.1; WOW64) AppleWebKit/534+ (KHTML, like Gecko) BingPreview/1.0b',
  'Barracuda Sentinel (EE)',
  'Mimecast URL Protect',
  'Slackbot-LinkExpanding 1.0 (+https://api.slack.com/robots)',
  'Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) HeadlessChrome/120.0.0.0 Safari/537.36',
  'curl/8.9.1',
  'python-requests/2.32.3',
  'Go-http-client/1.1',
  'Java/17.0.2',
  'Apache-HttpClient/4.5.13 (Java/11)',
  'node',
  '',
  '   ',
]

test('what fetches by itself is told from people', () => {
  for (const agent of people) assert.equal(isMachine({ method: 'GET', headers: { 'user-agent': agent } }), false, agent)
  for (const agent of machines) assert.equal(isMachine({ method: 'GET', headers: { 'user-agent': agent } }), true, agent)
})

test('asking for the head only, ahead of time or without a name is no person’s doing', () => {
  const agent = people[0] as string
  assert.equal(isMachine({ method: 'HEAD', headers: { 'user-agent': agent } }), true)
  assert.equal(isMachine({ method: 'GET', headers: {} }), true)
  for (const header of [
    { purpose: 'prefetch' },
    { 'sec-purpose': 'prefetch;prerender' },
    { 'x-purpose': 'preview' },
    { 'x-moz': 'prefetch' },
  ])
    assert.equal(isMachine({ method: 'GET', headers: { 'user-agent': agent, ...header } }), true, JSON.stringify(header))
})
