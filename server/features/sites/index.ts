export { likePost } from './like-post.ts'
export { forgetVisitors, startViewRecorder, type ViewRecorder } from './record-views.ts'
export { createRenderPost, type PostPage, type RenderPost } from './render-post.ts'
export {
  canonicalUrl,
  defaultSiteUrl,
  excerptOf,
  postPath,
  readingMinutes,
  type SitePostHead,
  type SitePostRow,
  type SiteRow,
  titleOf,
} from './site.ts'
export { findSite, findSitePost, listSitePosts, newestSitePosts, pageSitePosts, type SitePostPage } from './site-queries.ts'
