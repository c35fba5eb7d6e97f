import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isReader } from './is-reader.ts'

const readers = [
  'Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/142.0.0.0 Safari/537.36',
  'Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/142.0.0.0 Safari/537.36 Edg/142.0.0.0',
  'Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0.0.0 Safari/537.36 OPR/124.0.0.0',
  'Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.6 Safari/605.1.15',
  'Mozilla/5.0 (iPhone; CPU iPhone OS 18_6 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.6 Mobile/15E148 Safari/604.1',
  'Mozilla/5.0 (iPhone; CPU iPhone OS 18_6 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) CriOS/142.0.7444.77 Mobile/15E148 Safari/604.1',
  'Mozilla/5.0 (iPhone; CPU iPhone OS 18_6 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Mobile/15E148 [FBAN/FBIOS;FBAV/530.0]',
  'Mozilla/5.0 (Linux; Android 15; Pixel 9) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/142.0.0.0 Mobile Safari/537.36',
  'Mozilla/5.0 (Linux; Android 14; SM-S921B) AppleWebKit/537.36 (KHTML, like Gecko) SamsungBrowser/28.0 Chrome/130.0.0.0 Mobile Safari/537.36',
  'Mozilla/5.0 (X11; Linux x86_64; rv:144.0) Gecko/20100101 Firefox/144.0',
  'Mozilla/5.0 (Android 15; Mobile; rv:144.0) Gecko/144.0 Firefox/144.0',
]

const others = [
  'Feedly/1.0 (+http://www.feedly.com/fetcher.html; 12 subscribers)',
  'Feedbin feed-id:1 - 10 subscribers',
  'Mozilla/5.0 (compatible; Miniflux/2.2; +https://miniflux.app)',
  'NetNewsWire (RSS Reader; https://netnewswire.com/)',
  'Tiny Tiny RSS/24.01 (https://tt-rss.org/)',
  'Mastodon/4.3.1 (http.rb/5.2.0; +https://mastodon.social/)',
  'Mozilla/5.0 (compatible; Bluesky Cardyb/1.1; +mailto:support@bsky.app)',
  'Mozilla/5.0 (compatible; Embedly/0.2; +http://support.embed.ly/)',
  'Iframely/1.3.1 (+https://iframely.com/docs/about)',
  'Pinterest/0.2 (+https://www.pinterest.com/bot.html)',
  'meta-externalagent/1.1 (+https://developers.facebook.com/docs/sharing/webmasters/crawler)',
  'Mozilla/5.0 AppleWebKit/537.36 (KHTML, like Gecko); compatible; ChatGPT-User/1.0; +https://openai.com/bot',
  'Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/131.0.0.0 Safari/537.36; compatible; OAI-SearchBot/1.0',
  'Mozilla/5.0 AppleWebKit/537.36 (KHTML, like Gecko; compatible; Claude-User/1.0; +Claude-User@anthropic.com)',
  'Mozilla/5.0 (Linux; Android 6.0.1; Nexus 5X) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/142.0.0.0 Mobile Safari/537.36 (compatible; GoogleOther)',
  'GoogleOther',
  'Mozilla/5.0 (compatible; Google-InspectionTool/1.0;)',
  'Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/142.0.0.0 Safari/537.36 (compatible; Google-Read-Aloud; +https://support.google.com/)',
  'ia_archiver (+http://www.alexa.com/site/help/webmasters)',
  'Scrapy/2.11 (+https://scrapy.org)',
  'Mozilla/4.5 (compatible; HTTrack 3.0x; Windows 98)',
  'got (https://github.com/sindresorhus/got)',
  'PostmanRuntime/7.39.0',
  'Dart/3.4 (dart:io)',
  'Mozilla/5.0 (Linux; Android 11; moto g power) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/136.0.0.0 Mobile Safari/537.36 Chrome-Lighthouse',
  'W3C_Validator/1.3 http://validator.w3.org/services',
  'Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/605.1.15 (KHTML, like Gecko)',
  'Mozilla/5.0',
  'curl/8.9.1',
  '',
]

test('people with browsers are told from what fetches pages', () => {
  for (const agent of readers) assert.equal(isReader({ method: 'GET', headers: { 'user-agent': agent } }), true, agent)
  for (const agent of others) assert.equal(isReader({ method: 'GET', headers: { 'user-agent': agent } }), false, agent)
  const [agent] = readers
  assert.equal(isReader({ method: 'GET', headers: {} }), false)
  assert.equal(isReader({ method: 'HEAD', headers: { 'user-agent': agent } }), false)
  assert.equal(isReader({ method: 'GET', headers: { 'user-agent': agent, 'sec-purpose': 'prefetch' } }), false)
})
