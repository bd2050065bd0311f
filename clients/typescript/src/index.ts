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
export type { TextMatch } from "./match.js";
export { Message, type LinkMatch, type PageLike } from "./message.js";
export { Restante } from "./restante.js";
export { serverForRun } from "./run.js";
export type { RestanteOptions } from "./settings.js";
export { totp } from "./totp.js";
export type {
  Arrived,
  ArrivedMessages,
  Attachment,
  AttachmentInfo,
  Code,
  Ended,
  Envelope,
  Explanation,
  Fault,
  FaultState,
  Header,
  InboxFields,
  Link,
  ListUnsubscribe,
  Mailbox,
  MessageDetails,
  MessageFields,
  Otp,
  OutgoingMessage,
  Refused,
  SendApisUse,
  Sent,
  Similar,
  SmtpAddress,
  SmtpUse,
} from "./types.js";
