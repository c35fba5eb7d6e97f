import { invalid } from '../../base/errors.ts'
import { slugOf } from '../../base/slug.ts'
import { defineOperation } from '../../operations/define-operation.ts'
import { findInstance, freeSlug, insertProject } from '../identity/index.ts'
import { NewProject, Project, toProject } from './project.ts'
import { countOwnedProjects, findProject } from './project-queries.ts'

/** Nobody needs so many. */
const maxOwned = 100

export const createProject = defineOperation({
  id: 'projects.create',
  method: 'POST',
  path: '/api/projects',
  base: 'identity',
  scope: 'admin',
  actsForPerson: true,
  summary: 'Create a project',
  description:
    'The caller becomes its owner. The key that asks stays with its own project; POST /api/tokens with this `project_id` makes one for the new project. Projects of one owner on the free plan share one allowance.',
  body: NewProject,
  result: Project,
  status: 201,
  errors: [],

  async run({ database, caller }, { body }) {
    return database.transaction(async (tx) => {
      const slug = await freeSlug(tx, slugOf(body.name) || 'project')
      if ((await countOwnedProjects(tx, caller.user_id)) >= maxOwned)
        throw invalid('name', `cannot be given: you own ${maxOwned} projects, and there is no room for more. Delete one first`)
      const instance = await findInstance(tx)
      const plan = instance?.owner_id === caller.user_id ? 'unlimited' : 'free'
      const id = await insertProject(tx, { name: body.name, slug, owner_id: caller.user_id, plan })
      const made = await findProject(tx, id, caller.user_id)
      return toProject(made!) // just inserted
    })
  },
})
