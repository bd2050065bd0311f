<?php
// Sends one message with Symfony Mailer, which Laravel's mail is built on too: DSN FROM TO SUBJECT TEXT.
require "Symfony/Component/Mailer/autoload.php";

use Symfony\Component\Mailer\{Mailer, Transport};
use Symfony\Component\Mime\Email;

[, $dsn, $from, $to, $subject, $text] = $argv;
(new Mailer(Transport::fromDsn($dsn)))->send((new Email())->from($from)->to($to)->subject($subject)->text($text));
