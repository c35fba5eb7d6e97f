export { MailboxDetail, type MailboxRow, toMailboxDetail } from './mailbox.ts'
export {
  findMailbox,
  findMailboxByAddress,
  insertAgentMailbox,
  insertListMailbox,
  isAddressUsed,
  markMailboxDeleted,
} from './mailbox-queries.ts'
export { makeNumberedName, makeReadableName } from './readable-name.ts'
