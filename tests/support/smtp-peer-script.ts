/** A whole reply line without CRLF (any code, or garbage), or something ruder. */
export type PeerAction =
  | string
  /** Closes the connection at once, without a reply. */
  | { drop: true }
  /** Never answers, keeps the connection open. */
  | { hang: true }
  /** Waits, then does what it would have done, or what `then` says. */
  | { delayMs: number; then?: PeerAction }
  /** Waits until this is settled, then does what it would have done. */
  | { heldUntil: Promise<unknown> }
  /** These bytes and nothing more: no CRLF is added. With `drop` the connection closes after them. */
  | { raw: string; drop?: true }
  /** A reply in these pieces, each a packet of its own. */
  | { pieces: string[] }
  /** These bytes again and again, until the client gives up. */
  | { trickle: string; everyMs: number }

export interface PeerCall {
  /** The command as it came, without CRLF; '' at the greeting and the final dot. */
  line: string
  /** How often this stage was reached before, over all connections. */
  before: number
  /** Which connection this is, from 1. */
  connection: number
  /** What the client has sent after it, before it got an answer. */
  ahead: string
}

/** What to do at a stage: always the same, or decided at each call; undefined means "behave well". */
export type PeerScript = PeerAction | ((call: PeerCall) => PeerAction | undefined)

export interface SmtpPeerOptions {
  atGreeting?: PeerScript
  atEhlo?: PeerScript
  atStartTls?: PeerScript
  atAuth?: PeerScript
  atMail?: PeerScript
  atRcpt?: PeerScript
  atData?: PeerScript
  /** Says 354 to DATA also when it refused every recipient. */
  takesDataAnyway?: true
  /** Closes the connection once this many bytes of a message have come. */
  dropInMessageAfter?: number
  /** After the final dot. The message counts as accepted only when the answer is 2xx. */
  atDot?: PeerScript
  /** Which extensions EHLO lists. SMTPUTF8, PIPELINING and 8BITMIME unless told otherwise. */
  offers?: { starttls?: boolean; smtputf8?: boolean; pipelining?: boolean; eightBitMime?: boolean; auth?: boolean | string; size?: number }
  /** TLS from the first byte, as for smtps://. */
  secure?: boolean
  /** Which port; by default a free one. */
  port?: number
  /** Which address; 127.0.0.1 unless told otherwise. */
  host?: string
  /** By default the one of `peer-certificate.ts`. */
  certificate?: { key: string; cert: string }
}

export interface ReceivedMessage {
  from: string
  to: string[]
  /** Dots unstuffed, everything else byte for byte. */
  raw: Buffer
  /** The parameters of MAIL FROM: "SMTPUTF8 SIZE=120". */
  parameters: string
  tls: boolean
  /** Who logged in, as "user:password". */
  login: string | null
}

export type PeerStage = 'atGreeting' | 'atEhlo' | 'atStartTls' | 'atAuth' | 'atMail' | 'atRcpt' | 'atData' | 'atDot'
