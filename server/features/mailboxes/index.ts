export { MailboxDetail, toMailboxDetail } from './mailbox.ts'
export { findMailbox, insertListMailbox, markMailboxDeleted } from './mailbox-queries.ts'
