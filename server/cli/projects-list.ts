import { type ListedProject, listProjects } from './cli-queries.ts'
import { withDatabase } from './open.ts'
import { formatTable } from './table.ts'

const most = 1_000

export async function listAllProjects(): Promise<void> {
  await withDatabase(async ({ database, clock }) => {
    const projects = await listProjects(database, clock.now(), most)
    console.log(formatTable(['slug', 'name', 'owner', 'plan', 'sent this month'], projects.map(toCells)))
    if (projects.length === most) console.error(`These are the newest ${most}.`)
  })
}

const toCells = ({ slug, name, owner, plan, used }: ListedProject): string[] => [slug, name, owner, plan, String(used)]
