<?php
// Sends one message with PHP's mail(), which calls the program in sendmail_path: FROM TO SUBJECT TEXT.
[, $from, $to, $subject, $text] = $argv;
exit(mail($to, $subject, $text, ["From" => $from]) ? 0 : 1);
