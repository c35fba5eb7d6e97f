/** One "Name: value" of a header or of a report, unfolded. The name is in lower case. */
export interface Field {
  name: string
  value: string
}

const maxFields = 200
const maxValueLetters = 4000

/**
 * Blocks of fields with empty lines between them, which is the form of message/delivery-status, message/feedback-report and of any
 * header. Lines that are neither a field nor its continuation are passed over: real reports have such.
 */
export function readFieldBlocks(text: string, maxBlocks: number): Field[][] {
  const blocks: Field[][] = []
  let block: Field[] = []
  for (const line of text.split(/\r\n|\r|\n/)) {
    const last = block.at(-1)
    const [, name, value] = /^([!-9;-~]{1,80})[ \t]*:(.*)$/.exec(line) ?? []
    if (line.trim() === '') {
      if (block.length > 0) blocks.push(block)
      block = []
      if (blocks.length >= maxBlocks) break
    } else if (/^[ \t]/.test(line)) {
      if (last && last.value.length < maxValueLetters) last.value = `${last.value} ${line.trim()}`.slice(0, maxValueLetters)
    } else if (name !== undefined && value !== undefined && block.length < maxFields) {
      block.push({ name: name.toLowerCase(), value: value.trim().slice(0, maxValueLetters) })
    }
  }
  if (block.length > 0 && blocks.length < maxBlocks) blocks.push(block)
  return blocks
}

/** The first field of that name that says something. */
export function fieldValue(fields: readonly Field[], ...names: string[]): string | null {
  for (const name of names) {
    const value = fields.find((field) => field.name === name)?.value.trim()
    if (value) return value
  }
  return null
}
