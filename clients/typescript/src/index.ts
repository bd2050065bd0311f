/**
 * Temporary inboxes for end-to-end tests.
 * @packageDocumentation
 */

export {
  ContentError,
  InvalidRequestError,
  NotFoundError,
  RestanteError,
  UnauthorizedError,
  UnexpectedMessageError,
  UnreachableError,
  WaitTimeoutError,
} from "./errors.js";
export type { Content, Filters, WaitOptions } from "./filters.js";
export { Inbox } from "./inbox.js";
export { startServer, type Server, type ServerAddress, type ServerOptions } from "./launch.js";
export { Message, type LinkMatch, type PageLike } from "./message.js";
export { Restante } from "./restante.js";
export { serverForRun } from "./run.js";
export type { RestanteOptions } from "./settings.js";
export type {
  Attachment,
  AttachmentInfo,
  Envelope,
  Explanation,
  Fault,
  FaultState,
  InboxFields,
  Mailbox,
  MessageDetails,
  MessageFields,
  OutgoingMessage,
  Sent,
  SmtpAddress,
} from "./types.js";
