import { ApiError, invalid, notFound } from '../../base/errors.ts'
import { abortBroadcasts } from '../../delivery/control.ts'
import { publish } from '../../events/publish.ts'
import { defineOperation } from '../../operations/define-operation.ts'
import { findInstance } from '../identity/index.ts'
import { ProjectParams } from './project.ts'
import { endAccess, findProject, freeNames, lockProject, markProjectDeleted } from './project-queries.ts'
import { purgeProject } from './purge-project.ts'

export const deleteProject = defineOperation({
  id: 'projects.delete',
  method: 'DELETE',
  path: '/api/projects/{id}',
  base: 'identity',
  scope: 'admin',
  actsForPerson: true,
  summary: 'Delete the project with everything in it',
  description:
    'For owners. Lists, subscribers, contacts, mailboxes, mail and keys are gone for good; every key stops within a second. A credential reaches its own project only.',
  params: ProjectParams,
  status: 204,
  errors: ['not_found', 'validation_error'],

  async run({ database, caller, jobs }, { params }) {
    const { project_id, user_id } = caller
    if (params.id !== project_id) throw notFound('project')
    await database.transaction(async (tx) => {
      // Looked at again under the lock: the caller may have been an owner half a second ago.
      const project = (await lockProject(tx, project_id)) ? await findProject(tx, project_id, user_id) : null
      if (!project) throw notFound('project')
      if (project.role !== 'owner')
        throw new ApiError('forbidden', `Only an owner may delete a project, and you are its ${project.role}. Ask an owner.`)
      if ((await findInstance(tx))?.owner_project_id === project_id)
        throw invalid(
          'id',
          'is the first project of this installation, which sends its own mail from there. It can be emptied, not deleted',
        )
      await markProjectDeleted(tx, project_id)
      await endAccess(tx, project_id)
      await freeNames(tx, project_id)
      // After the lists, which whoever begins to send holds.
      await abortBroadcasts(tx, { project_id }, 'the project was deleted')
      await publish(tx, project_id, 'project.deleted', { project_id })
      await jobs.enqueue(tx, purgeProject, { project_id })
    })
  },
})
