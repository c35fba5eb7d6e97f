import type { ApiError } from '../base/errors.ts'

/** What the fields of the API are to who fills in a form. */
const subjects: Record<string, string> = {
  id: 'this',
  name: 'the name',
  email: 'the address',
  address: 'the address',
  role: 'the role',
  scope: 'the choice of what it may do',
  expires_at: 'the date',
}

/** What is wrong, without the name of the field before it, to go on a sentence with. */
export const problemIn = ({ field, message }: ApiError): string =>
  field !== undefined && message.startsWith(`${field}: `) ? message.slice(field.length + 2) : message

/** A refusal in whole sentences, for pages: `email: has no @` is a line for programs. */
export function refusalWords({ message }: ApiError): string {
  const words = message.replace(/(^|; )(\w+): (you )?/g, (whole, before: string, field: string, you = '') =>
    Object.hasOwn(subjects, field) ? before + (you || `${subjects[field]} `) : whole,
  )
  return words.charAt(0).toUpperCase() + words.slice(1) + (/[.!?]$/.test(words) ? '' : '.')
}
