/** What the pages say beside what authors write. A language is one more of these; the list's `language` chooses. */
const english = {
  archive: 'Archive',
  allPosts: 'All posts',
  latest: 'Latest posts',
  home: 'Home',
  backTo: (name: string) => `Back to ${name}`,
  subscribe: 'Subscribe',
  skip: 'Skip to the text',
  read: (minutes: number) => `${minutes} min read`,
  subscribers: (count: string, isOne: boolean) => `${count} ${isOne ? 'subscriber' : 'subscribers'}`,
  older: 'Older posts',
  newest: 'To the newest posts',
  olderPost: 'Older',
  newerPost: 'Newer',
  search: 'Search',
  searchPosts: 'Search posts',
  found: (query: string) => `Posts with “${query}”`,
  foundNone: (query: string) => `Nothing was found for “${query}”. Try fewer or shorter words.`,
  noPosts: 'Nothing has been published yet. Subscribe, and you will not miss the first post.',
  noPostsYet: 'Nothing has been published yet.',
  join: 'Join the waitlist',
  joinShort: 'Join',
  closed: 'This waitlist is closed at the moment.',
  notFound: 'There is nothing here',
  notFoundText: 'No page of this site has this address. It may be mistyped, or the page is gone.',
  noSite: 'There is no site here',
  noSiteText: 'Nobody publishes at this address. It may be mistyped, or the site is gone.',
  notShown: 'This post cannot be shown here. It is in the mail that subscribers got.',
  feed: 'RSS feed',
  moreLikeThis: (name: string) => `More from ${name}`,
  byMail: 'New posts come to your inbox.',
  yourEmail: 'Your e-mail address',
  yourName: 'Your name, if you like',
  weAsk: 'We send one mail to ask whether it is really you. You can leave at any time.',
  onceMore: 'Please press the button once more.',
  noAddress: 'This is not an e-mail address. Please check it.',
  throwAway: 'Please use an address that you keep: this one is thrown away soon.',
  tooMany: 'Too many have subscribed from here, or to this list, within the hour. Please try again later.',
  fromElsewhere: 'This form was sent from another site. Open the page here and try again.',
  lookIntoMail: 'Look into your mailbox',
  mailSent: (name: string) => `We have sent you a mail about ${name}. Press the button behind its link, and you are subscribed.`,
  noMail: 'Nothing there after some minutes? Look among the spam.',
  like: 'I like it',
  likes: (count: string, isOne: boolean) => `${count} ${isOne ? 'reader likes' : 'readers like'} this post.`,
  thankYou: 'Thank you',
  embed: 'Subscribe from your own page',
  embedForm: 'Copy this form into any page. It needs no script, and loads nothing from here before somebody presses the button.',
  embedScript: 'Or let a script of yours ask. Any page may do so.',
  embedSame: 'Whoever subscribes gets a mail first and has to confirm, as on this site. There is a limit for each network address.',
}

export type Words = typeof english

const languages: Record<string, Words> = { en: english }

/** Of the list's language, or of its language without the country, or English. */
export const wordsFor = (language: string): Words =>
  languages[language.toLowerCase()] ?? languages[language.split('-')[0]?.toLowerCase() ?? ''] ?? english

/** As people of that language write it; the day is UTC's, the same for every reader. */
export function formatDay(at: Date, language: string): string {
  return new Intl.DateTimeFormat(localeOf(language), { dateStyle: 'long', timeZone: 'UTC' }).format(at)
}

export const formatCount = (count: number, language: string): string => new Intl.NumberFormat(localeOf(language)).format(count)

/** The words are English where there are no others; dates among them are, too. */
const localeOf = (language: string): string => (wordsFor(language) === english && !/^en\b/i.test(language) ? 'en' : language)
