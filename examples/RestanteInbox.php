<?php
// An inbox of Restante for tests in PHP 8. Copy this file: it needs no extension.
declare(strict_types=1);

final class RestanteInbox
{
    public readonly string $id;
    public readonly string $address;
    private ?string $last = null;

    public function __construct()
    {
        ['id' => $this->id, 'address' => $this->address] = self::call('POST', '/v1/inboxes', [200, 201])[1];
    }

    /** The next message: each call returns a later one. Filters: subject, from, to, text, has (code, otp, link). */
    public function wait(float $timeout = 30, string ...$filters): array
    {
        $deadline = microtime(true) + $timeout;
        while (true) {
            $left = min(max((int) (($deadline - microtime(true)) * 1000), 1), 120_000);
            $query = http_build_query(['timeout' => $left, 'after' => $this->last, ...$filters]);
            $path = "/v1/inboxes/$this->id/messages/wait?$query";
            [$status, $answer] = self::call('GET', $path, [200, 408, 429, 503]);
            if ($status === 200) {
                $this->last = $answer['id'];
                return $answer;
            }
            if (microtime(true) >= $deadline) {
                $why = $this->explain(...$filters);
                throw new RuntimeException("No message for $this->address within $timeout s. $why");
            }
            if ($status !== 408) {
                usleep(250_000); // The key has too many waits, or the server restarts.
            }
        }
    }

    /** Why no later message has arrived that matches. */
    public function explain(string ...$filters): string
    {
        $query = http_build_query(['after' => $this->last, ...$filters]);
        return self::call('GET', "/v1/inboxes/$this->id/explain?$query")[1]['summary'];
    }

    public function delete(): void
    {
        self::call('DELETE', "/v1/inboxes/$this->id", [204]);
    }

    private static function call(string $method, string $path, array $expected = [200]): array
    {
        $url = (getenv('RESTANTE_URL') ?: 'http://127.0.0.1:8025') . $path;
        $header = 'Authorization: Bearer ' . getenv('RESTANTE_API_KEY');
        $http = ['method' => $method, 'header' => $header, 'timeout' => 130, 'ignore_errors' => true];
        $body = file_get_contents($url, context: stream_context_create(['http' => $http]));
        $status = (int) (explode(' ', $http_response_header[0] ?? '')[1] ?? 0);
        if (!in_array($status, $expected, true)) {
            throw new RuntimeException("$path: $status $body");
        }
        return [$status, json_decode((string) $body, true)];
    }
}
