import type { Operation } from '../../operations/define-operation.ts'
import { createProject } from './create-project.ts'
import { deleteProject } from './delete-project.ts'
import { listProjects } from './list-projects.ts'
import { updateProject } from './update-project.ts'

export const projectOperations: Operation[] = [listProjects, createProject, updateProject, deleteProject]

export { lockProject, passProjectOn } from './project-queries.ts'
export { purgeProject } from './purge-project.ts'
export { createProject, deleteProject, updateProject }
