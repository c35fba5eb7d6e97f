export { createSnsReceiver } from './receive-sns-message.ts'
