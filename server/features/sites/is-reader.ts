import { isMachine } from '../recipients/index.ts'

/** What every browser says of itself, and so does what an app shows pages with; feed readers, previews and libraries say less. */
const browser = /^Mozilla\/5\.0 \([^)]+\) .*\b(?:Firefox|FxiOS|Chrome|CriOS|EdgiOS|Safari|Mobile)\/[\dA-Z]/
/** What fetches for itself says so, and where to ask about it. */
const saysSo = /compatible;|https?:|\+mailto:|Lighthouse|GoogleOther|Google-|PTST\/|Prerender|archiver|\bgpt/i

/**
 * Whether a request is that of a person who looks at a page. More is asked than of who opens mail, which many programs do that are no
 * browsers: a reader who is missed costs one view, and what fetches every page that somebody links to spoils the number.
 */
export function isReader(request: Parameters<typeof isMachine>[0]): boolean {
  const agent = request.headers['user-agent']
  return typeof agent === 'string' && !isMachine(request) && browser.test(agent) && !saysSo.test(agent)
}
