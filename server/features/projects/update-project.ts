import { notFound } from '../../base/errors.ts'
import { defineOperation } from '../../operations/define-operation.ts'
import { NewProject, Project, ProjectParams, toProject } from './project.ts'
import { findProject, renameProject } from './project-queries.ts'

export const updateProject = defineOperation({
  id: 'projects.update',
  method: 'PATCH',
  path: '/api/projects/{id}',
  base: 'identity',
  scope: 'admin',
  summary: 'Rename the project',
  description: 'A credential reaches its own project only. The address of the project stays.',
  params: ProjectParams,
  body: NewProject,
  result: Project,
  status: 200,
  errors: ['not_found'],

  async run({ database, caller }, { params, body }) {
    if (params.id !== caller.project_id) throw notFound('project')
    return database.transaction(async (tx) => {
      await renameProject(tx, caller.project_id, body.name)
      const renamed = await findProject(tx, caller.project_id, caller.user_id)
      if (!renamed) throw notFound('project')
      return toProject(renamed)
    })
  },
})
