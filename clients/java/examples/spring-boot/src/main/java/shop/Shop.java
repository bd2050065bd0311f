package shop;

import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import org.springframework.boot.SpringApplication;
import org.springframework.boot.autoconfigure.SpringBootApplication;
import org.springframework.http.HttpStatus;
import org.springframework.mail.MailSender;
import org.springframework.mail.SimpleMailMessage;
import org.springframework.web.bind.annotation.PostMapping;
import org.springframework.web.bind.annotation.RequestParam;
import org.springframework.web.bind.annotation.RestController;
import org.springframework.web.server.ResponseStatusException;

/** A small application: a visitor signs up with an address, and confirms it with a code. */
@SpringBootApplication
@RestController
public class Shop {
  private final MailSender mail;
  private final Map<String, String> codes = new ConcurrentHashMap<>();

  Shop(MailSender mail) {
    this.mail = mail;
  }

  @PostMapping("/sign-up")
  void signUp(@RequestParam String email) {
    codes.put(email, "482913");
    SimpleMailMessage message = new SimpleMailMessage();
    message.setFrom("shop@app.example");
    message.setTo(email);
    message.setSubject("Confirm your account");
    message.setText("Your code is " + codes.get(email) + ".");
    mail.send(message);
  }

  @PostMapping("/confirm")
  String confirm(@RequestParam String email, @RequestParam String code) {
    if (!codes.remove(email, code)) {
      throw new ResponseStatusException(HttpStatus.FORBIDDEN);
    }
    return "Welcome, " + email;
  }

  public static void main(String... arguments) {
    SpringApplication.run(Shop.class, arguments);
  }
}
