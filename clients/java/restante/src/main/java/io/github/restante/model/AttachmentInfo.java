package io.github.restante.model;

/**
 * An attachment without its bytes. Written by clients/generate.py.
 *
 * @param index Counts from 0.
 * @param filename Its name.
 * @param contentType Its media type.
 * @param size The size of the decoded bytes.
 * @param contentId Its Content-ID.
 * @param inline Whether it is shown in the message.
 */
public record AttachmentInfo(
    int index, String filename, String contentType, int size, String contentId, boolean inline) {}
