/** A UUID as its 16 bytes, and back. */
export const parseUuid = (uuid: string): Buffer => Buffer.from(uuid.replaceAll('-', ''), 'hex')

export const formatUuid = (bytes: Buffer): string => bytes.toString('hex').replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5')
