import { createHash } from 'node:crypto'
import { z } from 'zod'

/**
 * A backup is one zstd stream of frames: a letter, the length of what follows (four bytes, big-endian), and that.
 *
 *   H  header, JSON      the first, once
 *   S  section, JSON     a table, or the queued jobs, begins
 *   D  data              its rows as COPY writes them (text format), cut anywhere; any number of frames, or none
 *   Z  trailer, JSON     the last, once: how many rows each section has, and the SHA-256 of every byte before the trailer
 *
 * A file without a fitting trailer was cut off or changed, and nothing is loaded from it.
 */
export const formatVersion = 1

const Header = z.object({
  format: z.literal('posthaste backup'),
  version: z.int(),
  app_version: z.string(),
  /** The newest migration that the data had seen. */
  migration: z.int(),
  created_at: z.iso.datetime(),
  secret_fingerprint: z.string().nullable(),
  /** Only a key that Posthaste made itself and keeps beside the data; one that comes from the environment stays there. */
  secret_key: z.string().nullable(),
  /** What was in the blob store, and so is not in the file; unknown in backups of releases before 0.6. */
  raw_messages: z.object({ messages: z.int(), bytes: z.number() }).optional(),
})
export type Header = z.output<typeof Header>

const Section = z.object({ kind: z.enum(['table', 'jobs']), name: z.string(), columns: z.array(z.string()) })
export type Section = z.output<typeof Section>

const Trailer = z.object({
  rows: z.record(z.string(), z.int()),
  sequences: z.array(z.object({ name: z.string(), table: z.string().nullable(), last_value: z.string(), is_called: z.boolean() })),
  sha256: z.string(),
})
export type Trailer = z.output<typeof Trailer>

export type Frame =
  | { kind: 'header'; header: Header }
  | { kind: 'section'; section: Section }
  | { kind: 'data'; bytes: Buffer }
  | { kind: 'trailer'; trailer: Trailer }

/** A file that is no backup, or no whole one. The message is for people. */
export class BackupError extends Error {}

const headBytes = 5
const maxFrameBytes = 64 * 1024 * 1024

/** Makes frames in order, and adds them up for the trailer. */
export function createFrames() {
  const hash = createHash('sha256')
  const frame = (letter: string, payload: Buffer): Buffer => {
    const bytes = Buffer.allocUnsafe(headBytes + payload.length)
    bytes.write(letter, 0, 'latin1')
    bytes.writeUInt32BE(payload.length, 1)
    payload.copy(bytes, headBytes)
    hash.update(bytes)
    return bytes
  }
  const json = (letter: string, value: object) => frame(letter, Buffer.from(JSON.stringify(value)))
  return {
    header: (header: Omit<Header, 'format' | 'version'>) => json('H', { format: 'posthaste backup', version: formatVersion, ...header }),
    section: (section: Section) => json('S', section),
    data: (bytes: Buffer) => frame('D', bytes),
    trailer: (trailer: Omit<Trailer, 'sha256'>) => json('Z', { ...trailer, sha256: hash.copy().digest('hex') }),
  }
}

const cutOff = () => new BackupError('The file is cut off: it has no end. Copy it again, or use another backup.')
const damaged = () => new BackupError('The file is damaged: its checksum does not fit its content. Copy it again, or use another backup.')

/** Takes a decompressed file apart. Whoever has read it to its end knows that it is whole. */
export async function* readFrames(stream: AsyncIterable<Buffer>): AsyncGenerator<Frame> {
  const hash = createHash('sha256')
  let expected: Frame['kind'] = 'header'
  for await (const bytes of cutIntoFrames(stream)) {
    if (expected === 'trailer') throw damaged()
    const frame = parseFrame(bytes)
    if (frame.kind === 'header') refuseNewerFormat(frame.header)
    if ((expected === 'header') !== (frame.kind === 'header')) throw damaged()
    if (frame.kind === 'trailer' && frame.trailer.sha256 !== hash.digest('hex')) throw damaged()
    if (frame.kind !== 'trailer') hash.update(bytes)
    expected = frame.kind === 'trailer' ? 'trailer' : 'section'
    yield frame
  }
  if (expected !== 'trailer') throw cutOff()
}

async function* cutIntoFrames(stream: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  let pieces: Buffer[] = []
  let size = 0
  let needed = headBytes
  for await (const piece of stream) {
    pieces.push(piece)
    size += piece.length
    // Put together only once a frame is whole.
    if (size < needed) continue
    let rest = Buffer.concat(pieces)
    for (needed = frameLength(rest); rest.length >= needed; needed = frameLength(rest)) {
      yield rest.subarray(0, needed)
      rest = rest.subarray(needed)
    }
    pieces = [rest]
    size = rest.length
  }
  if (size > 0) throw cutOff()
}

/** With its head, of which there must be enough to tell. */
function frameLength(bytes: Buffer): number {
  if (bytes.length < headBytes) return headBytes
  const length = bytes.readUInt32BE(1)
  if (length > maxFrameBytes) throw damaged()
  return headBytes + length
}

function parseFrame(bytes: Buffer): Frame {
  const payload = bytes.subarray(headBytes)
  switch (String.fromCharCode(bytes[0] as number)) {
    case 'H':
      return { kind: 'header', header: parseJson(Header, payload) }
    case 'S':
      return { kind: 'section', section: parseJson(Section, payload) }
    case 'D':
      return { kind: 'data', bytes: payload }
    case 'Z':
      return { kind: 'trailer', trailer: parseJson(Trailer, payload) }
    default:
      throw damaged()
  }
}

function parseJson<Schema extends z.ZodType>(schema: Schema, payload: Buffer): z.output<Schema> {
  try {
    return schema.parse(JSON.parse(payload.toString('utf8')))
  } catch (error) {
    throw new BackupError(damaged().message, { cause: error })
  }
}

function refuseNewerFormat({ version }: Header): void {
  if (version > formatVersion)
    throw new BackupError(
      `The file has format ${version}, and this release reads format ${formatVersion}. Update Posthaste, then try again.`,
    )
}
