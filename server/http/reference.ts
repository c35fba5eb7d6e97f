import scalar from '@scalar/fastify-api-reference'
import type { FastifyInstance } from 'fastify'

/** The readable API reference, made in the browser from openapi.json. Its script comes from here: nothing is fetched from elsewhere. */
export const addReference = (app: FastifyInstance): void => {
  app.register(scalar, {
    routePrefix: '/reference',
    logLevel: 'silent',
    configuration: {
      pageTitle: 'Posthaste API',
      url: '/v1/openapi.json',
      withDefaultFonts: false,
      telemetry: false,
      agent: { disabled: true },
      mcp: { disabled: true },
    },
  })
}
