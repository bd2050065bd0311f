// An inbox of Restante for tests in C#, with .NET 8 or newer. Copy this file: it needs no package.
using System;
using System.Net;
using System.Net.Http;
using System.Net.Http.Headers;
using System.Text.Json;
using System.Threading.Tasks;

public sealed class RestanteInbox
{
    private static readonly HttpClient Http = Client();
    private string? last;

    private RestanteInbox(JsonElement inbox)
    {
        Id = inbox.GetProperty("id").GetString()!;
        Address = inbox.GetProperty("address").GetString()!;
    }

    public string Id { get; }
    public string Address { get; }

    public static async Task<RestanteInbox> Create() => new((await Call(HttpMethod.Post, "/v1/inboxes")).Answer);

    /// <summary>The next message: each call returns a later one. A filter is a query such as "subject=confirm".</summary>
    public async Task<JsonElement> Wait(string filters = "", double timeout = 30)
    {
        var deadline = DateTime.UtcNow.AddSeconds(timeout);
        while (true)
        {
            var left = Math.Clamp((int)(deadline - DateTime.UtcNow).TotalMilliseconds, 1, 120_000);
            var path = $"/v1/inboxes/{Id}/messages/wait?timeout={left}&after={last}&{filters}";
            var (status, answer) = await Call(HttpMethod.Get, path);
            if (status == HttpStatusCode.OK)
            {
                last = answer.GetProperty("id").GetString();
                return answer;
            }
            if (DateTime.UtcNow >= deadline)
                throw new TimeoutException($"No message for {Address} within {timeout} s. {await Explain(filters)}");
            // The key has too many waits, or the server restarts.
            if (status != HttpStatusCode.RequestTimeout) await Task.Delay(250);
        }
    }

    /// <summary>Why no later message has arrived that matches.</summary>
    public async Task<string> Explain(string filters = "")
    {
        var (_, answer) = await Call(HttpMethod.Get, $"/v1/inboxes/{Id}/explain?after={last}&{filters}");
        return answer.GetProperty("summary").GetString()!;
    }

    public Task Delete() => Call(HttpMethod.Delete, $"/v1/inboxes/{Id}");

    private static async Task<(HttpStatusCode Status, JsonElement Answer)> Call(HttpMethod method, string path)
    {
        using var response = await Http.SendAsync(new HttpRequestMessage(method, path));
        var text = await response.Content.ReadAsStringAsync();
        if (!response.IsSuccessStatusCode && (int)response.StatusCode is not (408 or 429 or 503))
            throw new HttpRequestException($"{path}: {(int)response.StatusCode} {text}");
        return (response.StatusCode, text == "" ? default : JsonSerializer.Deserialize<JsonElement>(text));
    }

    private static HttpClient Client()
    {
        var url = Environment.GetEnvironmentVariable("RESTANTE_URL") ?? "http://127.0.0.1:8025";
        var key = Environment.GetEnvironmentVariable("RESTANTE_API_KEY");
        var client = new HttpClient { BaseAddress = new Uri(url), Timeout = TimeSpan.FromSeconds(130) };
        client.DefaultRequestHeaders.Authorization = new AuthenticationHeaderValue("Bearer", key);
        return client;
    }
}
