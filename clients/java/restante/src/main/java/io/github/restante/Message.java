package io.github.restante;

import io.github.restante.Connection.Request;
import io.github.restante.model.AttachmentInfo;
import io.github.restante.model.Checks;
import io.github.restante.model.Code;
import io.github.restante.model.Details;
import io.github.restante.model.Header;
import io.github.restante.model.Link;
import io.github.restante.model.Mailbox;
import io.github.restante.model.MessageFields;
import io.github.restante.model.Problem;
import io.github.restante.model.Sent;
import java.nio.charset.StandardCharsets;
import java.time.Instant;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Objects;
import java.util.function.Function;
import java.util.function.Predicate;
import java.util.regex.MatchResult;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/** A message in an inbox. */
public final class Message {
  /** What looks like a code, for the exception if there is none. */
  private static final Pattern NUMBER = Pattern.compile("\\b\\d{4,10}\\b");

  /** How many of them the exception shows. */
  private static final int MAX_NUMBERS = 5;

  private final Connection connection;
  private final MessageFields fields;

  Message(Connection connection, MessageFields fields) {
    this.connection = connection;
    this.fields = fields;
  }

  static boolean isMessage(MessageFields fields) {
    return fields.id() != null && fields.links() != null;
  }

  static String path(String id) {
    return "/messages/" + Connection.quote(id);
  }

  /**
   * All fields.
   *
   * @return the fields
   */
  public MessageFields fields() {
    return fields;
  }

  /**
   * The identifier.
   *
   * @return the id
   */
  public String id() {
    return fields.id();
  }

  /**
   * The sender's address.
   *
   * @return the address, or nothing if the message has none
   */
  public String from() {
    return fields.from();
  }

  /**
   * The recipient's address.
   *
   * @return the address
   */
  public String to() {
    return fields.to();
  }

  /**
   * The subject.
   *
   * @return the decoded text
   */
  public String subject() {
    return fields.subject();
  }

  /**
   * The plain text; of a message that has only HTML, that as text.
   *
   * @return the text
   */
  public String text() {
    return fields.text();
  }

  /**
   * The HTML.
   *
   * @return the HTML, or nothing if there is none
   */
  public String html() {
    return fields.html();
  }

  /**
   * The links.
   *
   * @return absolute URIs without duplicates
   */
  public List<String> links() {
    return fields.links();
  }

  /**
   * What the specification finds as a one-time code; {@link #code} finds only labelled ones.
   *
   * @return the digits, or nothing
   */
  public String otp() {
    return fields.otp();
  }

  /**
   * When the message was accepted.
   *
   * @return the time
   */
  public Instant receivedAt() {
    return fields.receivedAt();
  }

  /**
   * The code that a person would type: labelled digits, or a labelled code with letters such as
   * LZDG-RMHF.
   *
   * @return the code
   * @throws ContentException with what there is, if there is none or more than one
   */
  public String code() {
    return code(code -> true);
  }

  /**
   * The only labelled code that contains a text, or whose line does, in any case.
   *
   * @param contained the text
   * @return the code
   * @throws ContentException with what there is, if there is not exactly one
   */
  public String code(String contained) {
    String lower = contained.toLowerCase(Locale.ROOT);
    return code(
        code ->
            Stream.of(code.code(), code.line())
                .anyMatch(text -> text.toLowerCase(Locale.ROOT).contains(lower)));
  }

  /**
   * The only labelled code in which a regular expression is found, or in whose line.
   *
   * @param pattern the regular expression
   * @return the code
   * @throws ContentException with what there is, if there is not exactly one
   */
  public String code(Pattern pattern) {
    Predicate<String> isFound = pattern.asPredicate();
    return code(code -> isFound.test(code.code()) || isFound.test(code.line()));
  }

  /**
   * The only labelled code for which a predicate is true.
   *
   * @param predicate the predicate
   * @return the code
   * @throws ContentException with what there is, if there is not exactly one
   */
  public String code(Predicate<Code> predicate) {
    List<Code> codes = details().codes();
    List<Code> found = codes.stream().filter(predicate).toList();
    if (found.size() == 1) {
      return found.get(0).code();
    }
    String all = listed(codes, code -> code.code() + " in the line: " + code.line());
    if (found.size() > 1) {
      String problem = "has %d codes. Choose one with code(\"PIN\") or another part of its line:%s";
      throw contentException(problem.formatted(found.size(), all));
    }
    throw contentException(codes.isEmpty() ? noCode() : "has no code that matches, but:" + all);
  }

  private String noCode() {
    String text = Settings.or(text(), html());
    String seen =
        NUMBER
            .matcher(text)
            .results()
            .map(MatchResult::group)
            .distinct()
            .limit(MAX_NUMBERS)
            .collect(Collectors.joining(", "));
    String unlabelled =
        seen.isEmpty()
            ? ""
            : " Its numbers are not labelled as a code: "
                + seen
                + ". If one is the code, read it from the text.";
    return "has no code." + unlabelled + " Its text:\n" + text;
  }

  private static <T> String listed(List<T> all, Function<T, String> shown) {
    String lines = all.stream().map(one -> "\n  " + shown.apply(one)).collect(Collectors.joining());
    return lines.isEmpty() ? " none" : lines;
  }

  /**
   * The only link.
   *
   * @return the link
   * @throws ContentException with the links, if there is not exactly one
   */
  public String link() {
    return link(link -> true, "");
  }

  /**
   * The only link that contains a text.
   *
   * @param contained the text
   * @return the link
   * @throws ContentException with the links, if there is not exactly one
   */
  public String link(String contained) {
    return link(link -> link.contains(contained), " that contain \"" + contained + "\"");
  }

  /**
   * The only link in which a regular expression is found.
   *
   * @param pattern the regular expression
   * @return the link
   * @throws ContentException with the links, if there is not exactly one
   */
  public String link(Pattern pattern) {
    return link(pattern.asPredicate(), " that match /" + pattern + "/");
  }

  /**
   * The only link for which a predicate is true.
   *
   * @param predicate the predicate
   * @return the link
   * @throws ContentException with the links, if there is not exactly one
   */
  public String link(Predicate<String> predicate) {
    return link(predicate, " that match the predicate");
  }

  private String link(Predicate<String> predicate, String wanted) {
    List<String> found = links().stream().filter(predicate).toList();
    if (found.size() == 1) {
      return found.get(0);
    }
    throw contentException(
        "has %d links%s. Exactly one is needed. Its links:%s"
            .formatted(found.size(), wanted, listed(links(), link -> link)));
  }

  /**
   * The only link whose shown words contain a text, in any case.
   *
   * @param contained the text
   * @return the link
   * @throws ContentException with the links and their words, if there is not exactly one
   */
  public String linkText(String contained) {
    String lower = contained.toLowerCase(Locale.ROOT);
    List<Link> links = details().links();
    List<Link> found =
        links.stream().filter(it -> words(it).toLowerCase(Locale.ROOT).contains(lower)).toList();
    if (found.size() == 1) {
      return found.get(0).url();
    }
    throw contentException(
        "has %d links with the text \"%s\". Exactly one is needed. Its links:%s"
            .formatted(
                found.size(),
                contained,
                listed(
                    links,
                    link ->
                        link.text() == null ? link.url() : link.url() + " (" + link.text() + ")")));
  }

  /** A link in a plain text has no words. */
  private static String words(Link link) {
    return Settings.or(link.text(), "");
  }

  private ContentException contentException(String text) {
    String named = "the message \"%s\" from %s ".formatted(subject(), from());
    String story = connection.dashboardLine(fields.inboxId());
    return new ContentException(named + text + story, 0, null);
  }

  /**
   * Headers, envelope, all mailboxes, links with their text, and the list of attachments.
   *
   * @return the details
   */
  public Details details() {
    Request request = Request.get(path(id()) + "/details");
    return connection.fetch(request, Details.class, it -> it.id() != null);
  }

  /**
   * The attachments with their bytes.
   *
   * @return the attachments
   */
  public List<Attachment> attachments() {
    return details().attachments().stream().map(this::withContent).toList();
  }

  /**
   * The only attachment.
   *
   * @return the attachment with its bytes
   * @throws ContentException with the names, if there is not exactly one
   */
  public Attachment attachment() {
    return attachment(name -> true, "");
  }

  /**
   * The only attachment with a name, in any case.
   *
   * @param name the name, in which {@code *} stands for any characters
   * @return the attachment with its bytes
   * @throws ContentException with the names, if there is not exactly one
   */
  public Attachment attachment(String name) {
    String parts =
        Stream.of(name.split("\\*", -1)).map(Pattern::quote).collect(Collectors.joining(".*"));
    Pattern pattern = Pattern.compile(parts, Pattern.CASE_INSENSITIVE | Pattern.DOTALL);
    return attachment(pattern.asMatchPredicate(), " that match \"" + name + "\"");
  }

  /**
   * The only attachment in whose name a regular expression is found.
   *
   * @param pattern the regular expression
   * @return the attachment with its bytes
   * @throws ContentException with the names, if there is not exactly one
   */
  public Attachment attachment(Pattern pattern) {
    return attachment(pattern.asPredicate(), " that match /" + pattern + "/");
  }

  private Attachment attachment(Predicate<String> predicate, String wanted) {
    List<AttachmentInfo> all = details().attachments();
    List<AttachmentInfo> found =
        all.stream().filter(info -> predicate.test(Settings.or(info.filename(), ""))).toList();
    if (found.size() == 1) {
      return withContent(found.get(0));
    }
    Function<AttachmentInfo, String> shown =
        info -> Settings.or(info.filename(), "without a name") + " (" + info.contentType() + ")";
    throw contentException(
        "has %d attachments%s. Exactly one is needed. Its attachments:%s"
            .formatted(found.size(), wanted, listed(all, shown)));
  }

  private Attachment withContent(AttachmentInfo info) {
    return new Attachment(info, content("/attachments/" + info.index()));
  }

  /**
   * What the server's checks find in the message: placeholders that nobody has filled, links that
   * lead nowhere, and more.
   *
   * @return the problems, the errors first
   */
  public Checks checks() {
    return connection.fetch(
        Request.get(path(id()) + "/checks"), Checks.class, it -> it.problems() != null);
  }

  /**
   * Fails if the checks find an error in the message. The exception lists all problems with their
   * lines, also the warnings.
   *
   * @param ignore the names of checks that do not matter
   * @throws ContentException with the problems
   */
  public void check(String... ignore) {
    List<Problem> problems =
        checks().problems().stream()
            .filter(problem -> !List.of(ignore).contains(problem.check()))
            .toList();
    if (problems.stream().anyMatch(problem -> problem.severity().equals("error"))) {
      String number = problems.size() + (problems.size() == 1 ? " problem" : " problems");
      throw contentException("has " + number + ":" + listed(problems, Message::shown));
    }
  }

  private static String shown(Problem problem) {
    String text = "%s %s: %s".formatted(problem.severity(), problem.check(), problem.detail());
    return problem.line() == null
        ? text
        : text
            + " (%s, line %d: %s)"
                .formatted(problem.part(), problem.line(), problem.source().strip());
  }

  /**
   * The message as received.
   *
   * @return the bytes
   */
  public byte[] raw() {
    return content("/raw");
  }

  /**
   * The message as an HTML page: its HTML with embedded images, or its text.
   *
   * @return the page
   */
  public String page() {
    return new String(content("/page"), StandardCharsets.UTF_8);
  }

  private byte[] content(String part) {
    return connection.call(Request.get(path(id()) + part)).body();
  }

  /**
   * Replies to the sender from the inbox of the message, the way a mail client does.
   *
   * @param text the plain text
   * @return the id and the status of the reply
   */
  public Sent reply(String text) {
    return reply(text, null);
  }

  /**
   * Replies to the sender from the inbox of the message, the way a mail client does.
   *
   * @param text the plain text
   * @param html the HTML, or null
   * @return the id and the status of the reply
   */
  public Sent reply(String text, String html) {
    Details details = details();
    String to =
        Stream.concat(details.replyTo().stream(), details.from().stream())
            .map(Mailbox::address)
            .filter(Objects::nonNull)
            .findFirst()
            .orElse(details.envelope().from());
    String subject =
        details.headers().stream()
            .filter(header -> header.name().equalsIgnoreCase("Subject"))
            .map(Header::value)
            .findFirst()
            .orElse("");
    String answered =
        subject.toLowerCase(Locale.ROOT).startsWith("re:") ? subject : "Re: " + subject;
    return Inbox.send(connection, details.inboxId(), new Outgoing(to, answered, text, html, id()));
  }

  /**
   * Forwards the message as it is, from its inbox: for a look at it in a real mail client. The
   * server must be allowed to send mail.
   *
   * @param to the address
   * @return the id and the status of the forwarded message
   */
  public Sent forward(String to) {
    Request request = Request.change("POST", path(id()) + "/forward", Map.of("to", to));
    return connection.fetch(request, Sent.class, it -> it.id() != null);
  }

  /** Deletes the message. */
  public void delete() {
    connection.call(Request.change("DELETE", path(id()), null));
  }

  @Override
  public String toString() {
    return "\"%s\" from %s".formatted(subject(), from());
  }
}
