const names = [
  'import',
  'http',
  'page',
  'start',
  'compile',
  'smtp',
  'broadcast',
  'emails',
  'inbound',
  'contacts',
  'webhooks',
  'waitlist',
  'site',
]
/** Only when asked for by name. */
const long = ['broadcast-million']

const [name] = process.argv.slice(2)
const wanted = name === undefined ? names : [...names, ...long].filter((known) => known === name)
if (wanted.length === 0) {
  console.error(
    `There is no benchmark "${name}". There are: ${[...names, ...long].join(', ')}. Without a name, all run but ${long.join(', ')}, which takes minutes.`,
  )
  process.exitCode = 1
}
for (const one of wanted) {
  const { run } = (await import(`./${one}.ts`)) as { run(): Promise<void> }
  await run()
}
