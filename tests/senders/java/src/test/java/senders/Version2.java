package senders;

import java.util.ArrayList;
import java.util.List;
import software.amazon.awssdk.core.SdkBytes;
import software.amazon.awssdk.services.sesv2.SesV2Client;
import software.amazon.awssdk.services.sesv2.model.Attachment;
import software.amazon.awssdk.services.sesv2.model.AttachmentContentDisposition;
import software.amazon.awssdk.services.sesv2.model.BulkEmailEntry;
import software.amazon.awssdk.services.sesv2.model.Content;
import software.amazon.awssdk.services.sesv2.model.Message;
import software.amazon.awssdk.services.sesv2.model.MessageHeader;

/** SES with the API of version 2. */
record Version2(SesV2Client client) implements Sdk {
  @Override
  public void simple(String to, String subject) {
    client.sendEmail(
        email ->
            email
                .fromEmailAddress("shop@app.example")
                .destination(all -> all.toAddresses(to))
                .content(
                    content ->
                        content.simple(
                            simple ->
                                simple
                                    .subject(data(subject))
                                    .body(body -> body.text(data("Hello"))))));
  }

  @Override
  public void whole(String to, String cc, String bcc) {
    client.sendEmail(
        email ->
            email
                .fromEmailAddress("Zoë <shop@app.example>")
                .destination(
                    all ->
                        all.toAddresses("Ada Lövelace <" + to + ">")
                            .ccAddresses(cc)
                            .bccAddresses(bcc))
                .replyToAddresses("help@app.example")
                .content(content -> content.simple(message())));
  }

  private static Message message() {
    Attachment file =
        Attachment.builder()
            .fileName(FILE)
            .rawContent(SdkBytes.fromByteArray(Sdk.file()))
            .contentType("application/octet-stream")
            .build();
    Attachment image =
        Attachment.builder()
            .fileName("logo.png")
            .rawContent(SdkBytes.fromByteArray(Sdk.image()))
            .contentType("image/png")
            .contentDisposition(AttachmentContentDisposition.INLINE)
            .contentId("logo")
            .build();
    return Message.builder()
        .subject(data(SUBJECT))
        .body(body -> body.text(data(TEXT)).html(data(HTML)))
        .headers(MessageHeader.builder().name("X-Order").value("4711").build())
        .attachments(file, image)
        .build();
  }

  void batch(List<String> to) {
    List<BulkEmailEntry> entries = new ArrayList<>();
    for (String address : to) {
      String variables = "{\"subject\": \"Batch %d\"}".formatted(entries.size());
      entries.add(
          BulkEmailEntry.builder()
              .destination(all -> all.toAddresses(address))
              .replacementEmailContent(
                  content ->
                      content.replacementTemplate(it -> it.replacementTemplateData(variables)))
              .build());
    }
    client.sendBulkEmail(
        bulk ->
            bulk.fromEmailAddress("shop@app.example")
                .defaultContent(
                    content ->
                        content.template(
                            template ->
                                template
                                    .templateContent(it -> it.subject("{{subject}}").text("Hello"))
                                    .templateData("{}")))
                .bulkEmailEntries(entries));
  }

  void template(String to, String variables) {
    client.sendEmail(
        email ->
            email
                .fromEmailAddress("shop@app.example")
                .destination(all -> all.toAddresses(to))
                .content(
                    content ->
                        content.template(
                            template -> template.templateName("welcome").templateData(variables))));
  }

  private static Content data(String text) {
    return Content.builder().data(text).charset("UTF-8").build();
  }
}
