export { fileMessages } from './file-messages.ts'
export type { InboundMail } from './inbound-mail.ts'
