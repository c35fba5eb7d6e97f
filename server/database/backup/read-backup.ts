import { createReadStream } from 'node:fs'
import { createZstdDecompress } from 'node:zlib'
import { BackupError, type Frame, type Header, readFrames, type Trailer } from './format.ts'

export type OnBytes = (bytes: number) => void

/** The frames of a file on disk. `onBytes` is told how much of the file has been read. */
export async function* openBackup(path: string, onBytes: OnBytes = () => {}): AsyncGenerator<Frame> {
  const file = createReadStream(path, { highWaterMark: 256 * 1024 })
  const content = createZstdDecompress({ chunkSize: 256 * 1024 })
  file.on('error', (error) => content.destroy(error))
  try {
    for await (const frame of readFrames(file.pipe(content))) {
      onBytes(file.bytesRead)
      yield frame
    }
  } catch (error) {
    throw isOfCompression(error) ? await explain(path, error) : error
  } finally {
    file.destroy()
  }
}

const isOfCompression = (error: unknown): boolean => /^(ZSTD|Z)_/.test((error as NodeJS.ErrnoException).code ?? '')

const zstdMagic = Buffer.from([0x28, 0xb5, 0x2f, 0xfd])

async function explain(path: string, cause: unknown): Promise<BackupError> {
  const [first = Buffer.alloc(0)] = await createReadStream(path, { end: 3 }).toArray()
  if (!zstdMagic.equals(first as Buffer)) return new BackupError(`${path} is not a backup made by Posthaste.`, { cause })
  return new BackupError('The file is cut off or damaged. Copy it again, or use another backup.', { cause })
}

/** Reads the whole file, and answers what it says of itself. Throws a BackupError for one that is not whole. */
export async function verifyBackup(path: string, onBytes?: OnBytes): Promise<{ header: Header; trailer: Trailer }> {
  let header: Header | undefined
  let trailer: Trailer | undefined
  for await (const frame of openBackup(path, onBytes)) {
    if (frame.kind === 'header') header = frame.header
    if (frame.kind === 'trailer') trailer = frame.trailer
  }
  return { header: header!, trailer: trailer! } // readFrames ends well only after both
}
