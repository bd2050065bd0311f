/**
 * Applications accept the addresses of the default mail domain, with any validator. The checks of other
 * languages are their regular expressions, each with its source; Python's own are in clients/python/tests.
 */

import Joi from "joi";
import { expect, test } from "vitest";
import isEmail from "validator/lib/isEmail.js";
import * as yup from "yup";
import { z } from "zod";

/** The addresses that the server generates, and those of a tag. */
const ADDRESSES = ["k3v9w0qdm4xt2p7h@restante.example.com", "k3v9w0qdm4xt2p7h+signup@restante.example.com"];

const LABEL = "[a-zA-Z0-9](?:[a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?";
/** `<input type="email">` in the HTML standard, and Ruby's `URI::MailTo::EMAIL_REGEXP` (uri/mailto.rb). */
const HTML = new RegExp(`^[a-zA-Z0-9.!#$%&'*+/=?^_\`{|}~-]+@${LABEL}(?:\\.${LABEL})*$`);
/** Devise's `config.email_regexp` (lib/generators/templates/devise.rb). */
const DEVISE = /^[^@\s]+@[^@\s]+$/;
const ATOM = "[a-z0-9!#$%&'*+/=?^_`{|}~\\u0080-\\uFFFF-]+";
const NAME = "[a-z0-9\\u0080-\\uFFFF](?:[a-z0-9\\u0080-\\uFFFF-]{0,62})?";
/** `@Email` of Jakarta Validation as Hibernate Validator has it: AbstractEmailValidator, DomainNameUtil; no quotes. */
const HIBERNATE = new RegExp(`^${ATOM}(?:\\.${ATOM})*@(?:${NAME}\\.)*${NAME}$`, "i");
/** The pattern of OWASP's validation regex repository, which many Java applications copy. */
const OWASP = /^[a-zA-Z0-9_+&*-]+(?:\.[a-zA-Z0-9_+&*-]+)*@(?:[a-zA-Z0-9-]+\.)+[a-zA-Z]{2,}$/;

const CHECKS: Record<string, (address: string) => boolean> = {
  Joi: (address) => Joi.string().email().validate(address).error === undefined,
  "validator.js": (address) => isEmail(address),
  zod: (address) => z.email().safeParse(address).success,
  yup: (address) => yup.string().email().isValidSync(address),
  "HTML, Rails: URI::MailTo::EMAIL_REGEXP": (address) => HTML.test(address),
  "Rails: Devise": (address) => DEVISE.test(address),
  "Java: Hibernate Validator": (address) => HIBERNATE.test(address),
  "Java: OWASP": (address) => OWASP.test(address),
};

test.each(Object.entries(CHECKS))("%s accepts the addresses of inboxes", (_name, accepts) => {
  for (const address of ADDRESSES) expect(accepts(address), address).toBe(true);
  expect(accepts("no address")).toBe(false);
});

test("Joi refuses reserved top-level domains, as the explanations say, and accepts that of a seeded user", () => {
  for (const top of ["test", "example", "invalid", "local", "localhost"]) {
    expect(CHECKS.Joi?.(`ada@shop.${top}`), top).toBe(false);
  }
  expect(CHECKS.Joi?.("ada@example.com")).toBe(true);
});
