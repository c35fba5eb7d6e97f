export { describePosts } from './describe-posts.ts'
export { isReader } from './is-reader.ts'
export { likePost } from './like-post.ts'
export { forgetVisitors, startViewRecorder, type ViewRecorder } from './record-views.ts'
export { createRenderPost, type PostPage, type RenderPost } from './render-post.ts'
export {
  canonicalUrl,
  defaultSiteUrl,
  postPath,
  readingMinutes,
  type SitePostHead,
  type SitePostRow,
  type SiteRow,
  titleOf,
} from './site.ts'
export {
  findSite,
  findSitePost,
  listSitePosts,
  newestSitePosts,
  pageSitePosts,
  type SitePostPage,
  searchSitePosts,
} from './site-queries.ts'
