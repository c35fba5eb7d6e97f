import { sql } from '../../database/sql.ts'

/** What merge tags may say of a person, `{{ contact.city }}` or `{{ contact.metadata.plan }}`, from the row `c` of contacts. */
export const contactValues = sql`
  json_build_object('name', c.name, 'email', c.email, 'org', c.org, 'job_title', c.job_title, 'country', c.country, 'city', c.city,
    'tags', c.labels, 'metadata', c.metadata)`
