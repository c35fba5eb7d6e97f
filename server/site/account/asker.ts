import type { FastifyReply, FastifyRequest } from 'fastify'
import { ApiError } from '../../base/errors.ts'
import { findSessionCaller, listProjectsOf, type Membership, type SessionRow } from '../../features/sessions/index.ts'
import type { Caller, Services } from '../../operations/context.ts'
import { requireSession } from '../signed-in.ts'

export interface SignedIn {
  session: SessionRow
  /** In the project that the page is about. */
  caller: Caller
  project: Membership
  /** All projects of theirs. */
  projects: Membership[]
}

/** Who looks at a page about a project: the one that `?project=` names, else their first. Null: they were sent to sign in. */
export async function requireCaller(services: Services, request: FastifyRequest, reply: FastifyReply): Promise<SignedIn | null> {
  const session = await requireSession(services, request, reply)
  if (!session) return null
  const { project: slug } = request.query as { project?: unknown }
  const projects = await listProjectsOf(services.database, session.user_id)
  const wanted = slug === undefined ? projects[0] : projects.find((project) => project.slug === slug)
  const caller = wanted ? await findSessionCaller(services.database, session, wanted.slug) : null
  const project = projects.find(({ id }) => id === caller?.project_id)
  if (!caller || !project) throw new ApiError('not_found', 'You are in no such project. Your account page lists those that you are in.')
  return { session, caller, project, projects }
}
