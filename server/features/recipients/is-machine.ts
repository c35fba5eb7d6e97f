/**
 * Programs that fetch pictures and follow links without anybody reading: they are counted apart. A person's program that is taken
 * for one of these loses one open; a scanner that is taken for a person spoils the count of the whole list.
 */
const agents: RegExp[] = [
  // Apple's Mail Privacy Protection fetches every picture of every mail, and says no more than this.
  /^Mozilla\/5\.0$/,
  // Yahoo's proxy: whoever looks cannot be told from what looks ahead. Gmail's fetches when somebody opens, and is a person.
  /YahooMailProxy/i,
  // Gmail's look ahead, which pretends to be a browser that never was.
  /Chrome\/42\.0\.2311\.135 Safari\/537\.36 Edge\/12\.246/,
  // Scanners of mail gateways, and link previews of messengers.
  /barracuda|proofpoint|mimecast|forcepoint|trendmicro|fortinet|fortiguard|ironport|messagelabs|sophos|cloudmark|safelinks|zscaler|bitdefender/i,
  /BingPreview|Microsoft Office Protocol|SkypeUriPreview|Slackbot|TelegramBot|WhatsApp|facebookexternalhit|Twitterbot|LinkedInBot|Discordbot/i,
  // Everything that says what it is, and libraries that nobody reads mail with.
  /\b\w*(?:bot|crawl|spider|scan(?:ner)?|preview|prefetch|monitor|headless|phantomjs|slurp)\w*\b/i,
  /^(?:curl|wget|python|java|okhttp|go-http-client|libwww|node|axios|undici|ruby|perl|php|apache-httpclient|aiohttp|httpx)\b/i,
]

type Headers = Record<string, string | string[] | undefined>

/** Whether a request can be no person's: by how it asks, or by who it says it is. */
export function isMachine({ method, headers }: { method: string; headers: Headers }): boolean {
  const agent = headers['user-agent']
  if (method === 'HEAD' || typeof agent !== 'string' || agent.trim() === '') return true
  const looksAhead = [headers.purpose, headers['sec-purpose'], headers['x-purpose'], headers['x-moz']].some((value) =>
    /prefetch|preview/i.test(String(value ?? '')),
  )
  return looksAhead || agents.some((pattern) => pattern.test(agent.trim()))
}
