#!/usr/bin/env ruby
# A client in Ruby and a first test with it: what "A client in an afternoon" of clients/README.md describes.
require "json"
require "net/http"
require "socket"

# The server of the run, which all processes of the run share. It ends when the last of them has ended.
class Server
  attr_reader :smtp

  def initialize
    command = [ENV.fetch("RESTANTE_BIN", "restante"), "serve", "--for-tests", "--shared", "ruby-#{Process.ppid}"]
    @pipe = IO.popen(command, "r+")
    said = JSON.parse(@pipe.gets || abort("the server did not start"))
    @url, @key, @smtp = URI(said["url"]), said["api_key"], said["smtp"]
  end

  # The status and the JSON of the answer; without an answer, the status is 0.
  def call(method, path, query = {})
    request = method.new("/v1#{path}?#{URI.encode_www_form(query.compact)}", "Authorization" => "Bearer #{@key}")
    response = Net::HTTP.start(@url.host, @url.port, read_timeout: 130) { |http| http.request(request) }
    [response.code.to_i, response.body.to_s.empty? ? {} : JSON.parse(response.body)]
  rescue SystemCallError, IOError, Timeout::Error => error
    [0, { "error" => error.message }]
  end
end

class Inbox
  attr_reader :id, :address

  def initialize(server)
    @server = server
    @id, @address = repeated(10) { server.call(Net::HTTP::Post, "/inboxes") }.values_at("id", "address")
  end

  # The next message: each call returns a later one. Filters: subject, from, to, text, has ("code", "otp", "link").
  def wait(timeout: 30, **filters)
    message = repeated(timeout) do |left|
      query = { timeout: (left * 1000).ceil.clamp(1, 120_000), after: @last, **filters }
      @server.call(Net::HTTP::Get, "/inboxes/#{id}/messages/wait", query)
    end
    message.tap { @last = message["id"] }
  rescue Timeout::Error
    report = @server.call(Net::HTTP::Get, "/inboxes/#{id}/explain", { after: @last, **filters }).last["report"]
    raise "no message for #{address} within #{timeout} s\n#{report}"
  end

  def delete = repeated(10) { @server.call(Net::HTTP::Delete, "/inboxes/#{id}") }

  private

  # Repeats a request until it has an answer. After the deadline, it is sent for the last time.
  def repeated(limit)
    start = now
    loop do
      left = start + limit - now
      status, answer = yield [left, 0].max
      return answer if status.between?(200, 299)
      raise "#{status} #{answer["error"]}" unless [0, 408, 429, 503].include?(status)
      raise Timeout::Error, answer["error"] if left <= 0

      # A tenth of the time so far. After 408, the server has waited.
      sleep [((now - start) / 10).clamp(0.05, 1), left].min unless status == 408
    end
  end

  def now = Process.clock_gettime(Process::CLOCK_MONOTONIC)
end

# The application, which sends a code.
def sign_up(smtp, address)
  lines = ["HELO shop", "MAIL FROM:<shop@app.example>", "RCPT TO:<#{address}>", "DATA",
           "Subject: Confirm your account\r\n\r\nYour code is 482913.\r\n.", "QUIT"]
  TCPSocket.open(smtp["host"], smtp["port"]) do |socket|
    lines.each do |line|
      reply = socket.gets
      raise reply unless reply.start_with?("2", "3")

      socket.write("#{line}\r\n")
    end
    socket.read
  end
end

server = Server.new
inbox = Inbox.new(server)
sign_up(server.smtp, inbox.address)
puts inbox.wait(subject: "confirm")["otp"]

begin
  inbox.wait(subject: "invoice", timeout: 0.2)
rescue RuntimeError => error
  puts error.message
end
inbox.delete
