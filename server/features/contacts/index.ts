export { type ContactRow, contactEventData } from './contact.ts'
export { findContact, saveContact } from './contact-queries.ts'
export { enrichContact, type KnownOfContact, renameContact } from './enrich-contact.ts'
