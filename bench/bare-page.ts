import { readFileSync } from 'node:fs'
import fastify from 'fastify'

/** What the site benchmark holds us against: one Fastify route that sends the bytes of BARE_FILE, and nothing else. */
const { BARE_PORT, BARE_FILE } = process.env
const body = readFileSync(BARE_FILE as string)
const app = fastify()
app.get('/page', async (_request, reply) => reply.type('text/html; charset=utf-8').send(body))
await app.listen({ port: Number(BARE_PORT), host: '127.0.0.1' })
