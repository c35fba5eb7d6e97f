const names = ['import', 'http', 'page', 'start', 'compile', 'smtp', 'broadcast'] as const

const [name] = process.argv.slice(2)
const wanted = names.filter((known) => name === undefined || known === name)
if (wanted.length === 0) {
  console.error(`There is no benchmark "${name}". There are: ${names.join(', ')}. Without a name, all run.`)
  process.exitCode = 1
}
for (const one of wanted) {
  const { run } = (await import(`./${one}.ts`)) as { run(): Promise<void> }
  await run()
}
