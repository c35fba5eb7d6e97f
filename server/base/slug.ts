/** `Café & Friends` → `cafe-friends`: Latin letters, digits and hyphens, at most 40 unless said. Empty for a name that has none of them. */
export const slugOf = (name: string, maxLetters = 40): string =>
  name
    .normalize('NFKD')
    .replace(/\p{M}/gu, '')
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '-')
    .slice(0, maxLetters)
    .replace(/^-+|-+$/g, '')

/** Names that belong to the installation, not to a list, a mailbox or a person. */
export const reservedNames: ReadonlySet<string> = new Set(
  'www api app id auth mcp mail smtp imap mx ns rp bounce lists sites admin root postmaster abuse hostmaster webmaster noreply no-reply support help info static assets cdn status docs dev agent agents account accounts oauth sign-in invites reference posthaste owner security billing payment payments legal privacy compliance notifications alerts mailer-daemon daemon system operator bounces unsubscribe feedback b reply replies administrator sysadmin ssladmin noc dmarc tlsrpt fbl'.split(
    ' ',
  ),
)
