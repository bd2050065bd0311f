package io.github.restante;

import io.github.restante.model.AttachmentInfo;

/**
 * An attachment.
 *
 * @param info its name, type and size
 * @param content its decoded bytes
 */
public record Attachment(AttachmentInfo info, byte[] content) {}
