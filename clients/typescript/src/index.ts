/**
 * Temporary inboxes for end-to-end tests.
 * @packageDocumentation
 */

export type { CheckOptions } from "./checks.js";
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
export type { TextMatch } from "./match.js";
export { Message, type LinkMatch, type PageLike } from "./message.js";
export { Restante } from "./restante.js";
export { serverForRun, startServer, type Server, type ServerAddress, type ServerOptions } from "./server.js";
export type { RestanteOptions } from "./settings.js";
export { totp } from "./totp.js";
export type {
  Arrived,
  ArrivedMessages,
  Attachment,
  AttachmentInfo,
  Authentication,
  Code,
  DkimCheck,
  DmarcCheck,
  Ended,
  Envelope,
  EventFilters,
  Exchange,
  Explanation,
  Fault,
  FaultState,
  Header,
  HtmlFeature,
  HtmlSupport,
  InboxEvent,
  InboxFields,
  Link,
  ListUnsubscribe,
  Mailbox,
  MessageChecks,
  MessageDetails,
  MessageFields,
  Otp,
  OutgoingMessage,
  Problem,
  Refused,
  SendApisUse,
  Sent,
  Similar,
  SmtpAddress,
  SmtpUse,
  SpfCheck,
} from "./types.js";
