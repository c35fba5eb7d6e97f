import { type Answer, isFound, isTrouble, type LookUps } from '../../dns/index.ts'

/** What DNS said, by question: `TXT _dmarc.example.com`. MX records are `10 mx.example.com`. */
export type Answers = Record<string, Answer>

type QuestionType = 'TXT' | 'CNAME' | 'MX' | 'ADDRESS'
export type Question = `${QuestionType} ${string}`

/** What is asked about one record. */
export interface Interest {
  questions: Question[]
  /** Where else it may have landed, if it is not found: what people get wrong. */
  doubts: Question[]
}

/** Asks about all records at once, and for the usual mistakes only where one is not found. `also` is asked in any case. */
export async function survey(lookUps: LookUps, interests: Interest[], also: Question[] = []): Promise<Answers> {
  const first = await askAll(lookUps, [...interests.flatMap(({ questions }) => questions), ...also])
  const doubtful = interests.filter(({ questions }) => {
    const answers = questions.map((question) => first[question] as Answer)
    // Servers that do not answer would not answer the rest either, and others wait for their turn.
    return !answers.some(isFound) && !answers.every(isTrouble)
  })
  const asked = new Set(Object.keys(first))
  const doubts = doubtful.flatMap((one) => one.doubts).filter((question) => !asked.has(question))
  return { ...first, ...(await askAll(lookUps, doubts)) }
}

/** Somebody was asked and did not answer, which takes up seconds. */
export const isSilent = (answers: Answers): boolean => Object.values(answers).some(isTrouble)

async function askAll(lookUps: LookUps, questions: Question[]): Promise<Answers> {
  const once = [...new Set(questions)]
  const answers = await Promise.all(once.map((question) => inTime(askOne(lookUps, question))))
  return Object.fromEntries(once.map((question, index) => [question, answers[index] as Answer]))
}

/** Somebody may be waiting for the whole: two rounds of questions, each to servers that may all hang. */
const answerMs = 10_000

async function inTime(asked: Promise<Answer>): Promise<Answer> {
  const late = Promise.withResolvers<Answer>()
  const timer = setTimeout(() => late.resolve({ trouble: 'its name servers did not answer in time' }), answerMs)
  return Promise.race([asked, late.promise]).finally(() => clearTimeout(timer))
}

async function askOne(lookUps: LookUps, question: Question): Promise<Answer> {
  const [type, name] = question.split(' ') as [QuestionType, string]
  if (type === 'TXT') return lookUps.txt(name)
  if (type === 'CNAME') return lookUps.cname(name)
  if (type === 'ADDRESS') return lookUps.addresses(name)
  const answer = await lookUps.mx(name)
  return isFound(answer) ? { ...answer, found: answer.found.map(({ preference, exchange }) => `${preference} ${exchange}`) } : answer
}
