import fastify, { type FastifyInstance } from 'fastify'

/**
 * The readable API reference, made in the browser from openapi.json. Its script comes from here: nothing is fetched from elsewhere.
 * The package holds that script as one long string (27 MB of memory, 0.3 s of start), so it is loaded when somebody first looks.
 */
export function addReference(app: FastifyInstance): void {
  let loading: Promise<FastifyInstance> | null = null
  const load = async (): Promise<FastifyInstance> => {
    const { default: scalar } = await import('@scalar/fastify-api-reference')
    const inner = fastify()
    await inner.register(scalar, {
      routePrefix: '/reference',
      configuration: {
        pageTitle: 'Posthaste API',
        url: '/v1/openapi.json',
        withDefaultFonts: false,
        telemetry: false,
        showDeveloperTools: 'never',
        hideClientButton: true,
        agent: { disabled: true },
        mcp: { disabled: true },
      },
    })
    return inner
  }
  for (const url of ['/reference', '/reference/*']) {
    app.get(url, async (request, reply) => {
      // One that failed is tried again.
      loading ??= load().catch((error: unknown) => {
        loading = null
        throw error
      })
      const answer = await (await loading).inject({ method: 'GET', url: request.url })
      const { 'content-length': _length, connection: _connection, ...headers } = answer.headers
      return reply.code(answer.statusCode).headers(headers).send(answer.rawPayload)
    })
  }
}
