# An inbox of Restante for tests in Ruby. Copy this file: it needs only the standard library.
require "json"
require "net/http"

class RestanteInbox
  SERVER = URI(ENV.fetch("RESTANTE_URL", "http://127.0.0.1:8025"))

  attr_reader :id, :address

  def initialize
    @id, @address = call(Net::HTTP::Post, "/v1/inboxes").last.values_at("id", "address")
  end

  # The next message: each call returns a later one. Filters: subject, from, to, text, has ("code", "otp", "link").
  def wait(timeout: 30, **filters)
    deadline = now + timeout
    loop do
      left = ((deadline - now) * 1000).to_i.clamp(1, 120_000)
      query = URI.encode_www_form({ timeout: left, after: @last, **filters }.compact)
      status, answer = call(Net::HTTP::Get, "/v1/inboxes/#{id}/messages/wait?#{query}", [200, 408, 429, 503])
      return answer.tap { @last = answer["id"] } if status == 200
      raise "No message for #{address} within #{timeout} s. #{explain(**filters)}" if now >= deadline

      sleep 0.25 unless status == 408 # The key has too many waits, or the server restarts.
    end
  end

  # Why no later message has arrived that matches.
  def explain(**filters)
    query = URI.encode_www_form({ after: @last, **filters }.compact)
    call(Net::HTTP::Get, "/v1/inboxes/#{id}/explain?#{query}").last["summary"]
  end

  def delete = call(Net::HTTP::Delete, "/v1/inboxes/#{id}", [204])

  private

  def now = Process.clock_gettime(Process::CLOCK_MONOTONIC)

  def call(method, path, expected = [200, 201])
    request = method.new(path, "Authorization" => "Bearer #{ENV.fetch("RESTANTE_API_KEY")}")
    options = { use_ssl: SERVER.scheme == "https", read_timeout: 130 }
    response = Net::HTTP.start(SERVER.host, SERVER.port, options) { |http| http.request(request) }
    status = response.code.to_i
    raise "#{path}: #{status} #{response.body}" unless expected.include?(status)

    [status, response.body && JSON.parse(response.body)]
  end
end
