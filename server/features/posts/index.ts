import type { Operation } from '../../operations/define-operation.ts'
import { abortPost } from './abort-post.ts'
import { cancelPost } from './cancel-post.ts'
import { createPost } from './create-post.ts'
import { deletePost } from './delete-post.ts'
import { duplicatePost } from './duplicate-post.ts'
import { exportDeliveries } from './export-deliveries.ts'
import { getPost } from './get-post.ts'
import { listDeliveries } from './list-deliveries.ts'
import { listPosts } from './list-posts.ts'
import { pausePost } from './pause-post.ts'
import { previewPost } from './preview-post.ts'
import { publishPost } from './publish-post.ts'
import { rejectPost } from './reject-post.ts'
import { resumePost } from './resume-post.ts'
import { retryDeliveries } from './retry-deliveries.ts'
import { schedulePost } from './schedule-post.ts'
import { sendPost, sendShownPost } from './send-post.ts'
import { testPost } from './test-post.ts'
import { unpublishPost } from './unpublish-post.ts'
import { updatePost } from './update-post.ts'

export const postOperations: Operation[] = [
  listPosts,
  createPost,
  getPost,
  updatePost,
  deletePost,
  sendPost,
  schedulePost,
  cancelPost,
  rejectPost,
  publishPost,
  unpublishPost,
  duplicatePost,
  previewPost,
  testPost,
  pausePost,
  resumePost,
  abortPost,
  listDeliveries,
  exportDeliveries,
  retryDeliveries,
]

export { describeByTitle, describePost } from './describe-post.ts'
export { draftByMail, type MailedPost } from './draft-by-mail.ts'
export { lookAfterBroadcasts, startLookingAfterBroadcasts } from './look-after-broadcasts.ts'
export { PostParams, type PostRow, postEventData } from './post.ts'
export { type Approval, findApproval, issueDigest, type ShownPost, showPost } from './post-approval.ts'
export { broadcastSourceOf, frameOf, postSourceOf } from './post-frame.ts'
export { findPost, findPostHeads, keyOf, type PostKey, type SiteText, saveSiteText } from './post-queries.ts'
export { sendDuePosts, startDuePosts } from './send-due-posts.ts'
export { rejectPost, sendShownPost }
