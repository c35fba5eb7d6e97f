import type { Operation } from '../../operations/define-operation.ts'
import { checkSender } from './check-sender.ts'
import { atFormerPath } from './deprecated-paths.ts'
import { getSender } from './get-sender.ts'
import { resetSender } from './reset-sender.ts'
import { rotateSender } from './rotate-sender.ts'
import { setSender } from './set-sender.ts'

const inContract = [getSender, setSender, resetSender, checkSender]

export const senderOperations: Operation[] = [...inContract, rotateSender, ...inContract.map(atFormerPath)]

export { checkDueDomains } from './check-due-domains.ts'
export { lookAtMailDomain } from './mail-domain.ts'
export { dmarcRecordFor } from './records.ts'
export { lookAtReturnTarget, warnOfReturnTarget } from './return-target.ts'
export { type SendingTrouble, troubleInSettings, troubleWithAddresses, warnOfSending } from './sending-trouble.ts'
