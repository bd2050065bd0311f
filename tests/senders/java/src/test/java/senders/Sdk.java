package senders;

import java.nio.charset.StandardCharsets;
import java.util.Base64;

/** An SDK that sends mail. */
interface Sdk {
  String SUBJECT = "Grüße 🐌";
  String TEXT = "Your code is 482913.";
  String HTML = "<p>Grüße <img src=\"cid:logo\"> <a href=\"https://app.example/in\">in</a>";
  String FILE = "größe.bin";

  void simple(String to, String subject);

  /** A message with all parts, from Zoë to Ada Lövelace. */
  void whole(String to, String cc, String bcc);

  /** Every byte, and every form of a line's end. */
  static byte[] file() {
    byte[] content = new byte[256 + 8];
    for (int index = 0; index < 256; index++) {
      content[index] = (byte) index;
    }
    System.arraycopy("a\nb\r\nc\rd".getBytes(StandardCharsets.US_ASCII), 0, content, 256, 8);
    return content;
  }

  static byte[] image() {
    return Base64.getDecoder().decode("iVBORw0KGgo=");
  }
}
