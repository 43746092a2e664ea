// HTTP/1.1, by Boost.Beast.
#include <fmt/core.h>
#include <sys/socket.h>

#include <deque>

#include "operate/http/departure.h"
#include "operate/http/wire.h"

namespace hone {
namespace {

constexpr size_t kReadBytes = 64 << 10;  // at once
// Bytes that the parser may have beyond a request's headers.
constexpr size_t kReadAheadBytes = 128 << 10;

class Http1 : public HttpConnection, public std::enable_shared_from_this<Http1> {
 public:
  Http1(std::shared_ptr<Wire> wire, HttpShared& shared, beast::flat_buffer begun)
      : wire_(std::move(wire)), shared_(shared), buffer_(std::move(begun)), open_bytes_(shared) {
    // Beast buffers the line of a chunk's size and the trailers here until they are complete.
    buffer_.max_size(shared_.options.most_header_bytes + kReadAheadBytes);
    beast::error_code failed;
    const auto peer = wire_->tcp().socket().remote_endpoint(failed);
    if (!failed) client_ = peer.address().to_string();
  }
  ~Http1() override { --shared_.connections; }

  void read_head() {
    parser_.emplace();
    parser_->body_limit(shared_.options.most_body_bytes);
    parser_->header_limit(static_cast<uint32_t>(shared_.options.most_header_bytes));
    parser_->on_chunk_header(on_chunk_);
    request_ = {};
    request_.client = client_;
    open_bytes_.clear();
    extension_bytes_ = 0;
    admitted_ = no_room_ = false;
    // The time limit of a request begins with its first byte.
    if (buffer_.size() > 0) return begin_to_read();
    wire_->tcp().expires_after(seconds_of(shared_.options.idle_seconds));
    idle_ = true;
    if (shared_.draining) return close();
    wire_->read_some(buffer_.prepare(4096),
                     [self = shared_from_this()](beast::error_code failed, size_t bytes) {
                       self->idle_ = false;
                       if (failed) return self->close();
                       self->buffer_.commit(bytes);
                       self->begin_to_read();
                     });
  }

  void finish() override {
    if (idle_) close();
  }

 private:
  class Reply;

  void begin_to_read() {
    wire_->tcp().expires_after(seconds_of(shared_.options.request_seconds));
    parse();
  }

  void read_more() {
    const size_t room = std::min(kReadBytes, buffer_.max_size() - buffer_.size());
    if (room == 0) return refuse(http::error::buffer_overflow);
    wire_->read_some(buffer_.prepare(room),
                     [self = shared_from_this()](beast::error_code failed, size_t bytes) {
                       if (failed) return self->close();
                       self->buffer_.commit(bytes);
                       self->parse();
                     });
  }

  // Takes what was read, and reads more until the request is whole.
  void parse() {
    while (!parser_->is_done()) {
      if (buffer_.size() == 0) return read_more();
      if (!parser_->is_header_done()) {
        const std::string_view head(static_cast<const char*>(buffer_.data().data()),
                                    buffer_.size());
        // RFC 9112, 5.2: Beast would join folded lines.
        const std::string_view lines = head.substr(0, head.find("\r\n\r\n"));
        if (lines.find("\n ") != lines.npos || lines.find("\n\t") != lines.npos)
          return refuse(400, "a line of a header may not be folded");
      }
      beast::error_code failed;
      buffer_.consume(parser_->put(buffer_.data(), failed));
      if (failed == http::error::need_more) return read_more();
      if (failed) return refuse(failed);
      if (!admitted_ && parser_->is_header_done() && !admit()) return;
    }
    answer();
  }

  // Looks at the head of the request. False: it is answered, or the client waits for leave to send
  // the body.
  bool admit() {
    admitted_ = true;
    const auto& head = parser_->get();
    if (const auto [status, text] = bad_framing(head); status != 0) {
      refuse(status, text);
      return false;
    }
    read_fields(head);
    std::optional<WebAnswer> refusal = shared_.refusal(request_);
    const auto length = parser_->content_length();
    if (!refusal && length && !open_bytes_.add(static_cast<size_t>(*length)))
      refusal = no_room_for_body(shared_);
    if (refusal) {
      refuse(std::move(*refusal));
      return false;
    }
    if (!beast::iequals(head[http::field::expect], "100-continue")) return true;
    wire_->write("HTTP/1.1 100 Continue\r\n\r\n", {},
                 [self = shared_from_this()](beast::error_code failed, size_t) {
                   if (failed) return self->close();
                   self->parse();
                 });
    return false;
  }

  void read_fields(const http::request_header<>& head) {
    request_.method = std::string(head.method_string());
    const std::string_view target(head.target().data(), head.target().size());
    const size_t question = target.find('?');
    request_.path = std::string(target.substr(0, question));
    if (question != std::string_view::npos)
      request_.query = std::string(target.substr(question + 1));
    for (const auto& field : head) {
      std::string name(field.name_string());
      for (char& c : name) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
      request_.headers.emplace_back(std::move(name), std::string(field.value()));
    }
    request_.protocol = fmt::format("HTTP/{}.{}", head.version() / 10, head.version() % 10);
  }

  // RFC 9112, 3.2, 6.1 and 6.3. Beast treats a request with an unknown coding as one without a body,
  // and would read the body as the next request. Beast itself refuses Content-Length beside "chunked".
  std::pair<int, const char*> bad_framing(const http::request_header<>& head) const {
    if (head.version() >= 11 && head.count(http::field::host) != 1)
      return {400, "a request of HTTP/1.1 has one Host"};
    if (head.count(http::field::content_length) > 1)
      return {400, "there are two of Content-Length"};
    const auto [first, last] = head.equal_range(http::field::transfer_encoding);
    if (first == last) return {0, ""};
    if (head.version() < 11) return {400, "HTTP/1.0 has no Transfer-Encoding"};
    if (!parser_->chunked())
      return {400, "the last coding of Transfer-Encoding must be chunked, once"};
    if (std::next(first) != last || !beast::iequals(first->value(), "chunked"))
      return {501, "Transfer-Encoding must be chunked and nothing else"};
    return {0, ""};
  }

  void answer();

  // Refuses a malformed request and everything after it on this connection.
  void refuse(beast::error_code failed) {
    if (no_room_) return refuse(no_room_for_body(shared_));
    int status = 400;
    std::string text = "this is not a request of HTTP/1.1";
    const bool in_body = parser_->is_header_done();
    if (failed == http::error::body_limit) {
      if (!admitted_) read_fields(parser_->get());  // a Content-Length: all fields are there
      status = 413;
      text =
          "the body is longer than " + std::to_string(shared_.options.most_body_bytes) + " bytes";
    } else if (failed == http::error::header_limit || failed == http::error::buffer_overflow) {
      status = 431;
      text = in_body ? "the extensions of chunks, or the trailers, are too long"
                     : "the headers are too long";
    }
    refuse(status, text);
  }
  void refuse(int status, const std::string& text) { refuse(web_error(status, text)); }
  void refuse(WebAnswer a) {
    shared_.finish_refusal(request_, a);
    keep_alive_ = false;
    open_bytes_.clear();
    const bool no_body = parser_->is_header_done() && parser_->get().method() == http::verb::head;
    send(std::move(a), 11, no_body);
  }

  using Response = http::response<http::string_body>;
  static Response response_to(WebAnswer a, unsigned version) {
    Response r;
    r.version(version);
    r.result(static_cast<unsigned>(a.status));
    if (!a.type.empty()) r.set(http::field::content_type, a.type);
    for (const auto& [name, value] : a.headers) r.insert(name, value);
    r.body() = std::move(a.body);
    return r;
  }
  static std::string head_of(const Response& r) {
    const auto text = [](const auto& s) { return std::string_view(s.data(), s.size()); };
    std::string head = fmt::format("HTTP/{}.{} {} {}\r\n", r.version() / 10, r.version() % 10,
                                   r.result_int(), text(http::obsolete_reason(r.result())));
    for (const auto& field : r)
      head += fmt::format("{}: {}\r\n", text(field.name_string()), text(field.value()));
    return head + "\r\n";
  }

  void send(WebAnswer a, unsigned version, bool no_body) {
    if (closed_) return;
    keep_alive_ = keep_alive_ && !shared_.draining;
    Response r = response_to(std::move(a), version);
    r.keep_alive(keep_alive_);
    r.prepare_payload();
    if (no_body) r.body().clear();  // the length stays
    head_ = head_of(r);
    body_ = std::move(r.body());
    wire_->tcp().expires_after(seconds_of(shared_.options.write_seconds));
    wire_->write(head_, body_, [self = shared_from_this()](beast::error_code failed, size_t) {
      self->body_ = {};
      self->answered(failed);
    });
  }

  void answered(beast::error_code failed) {
    if (failed) return close();
    if (!keep_alive_ || shared_.draining) return shut();
    read_head();
  }

  // Ends the sending side, and waits briefly for the client to read the rest.
  void shut() {
    beast::error_code ignored;
    if (wire_->has_tls() && !closed_)
      return wire_->shutdown([self = shared_from_this()](beast::error_code) { self->close(); });
    wire_->tcp().socket().shutdown(asio::ip::tcp::socket::shutdown_send, ignored);
    wire_->tcp().expires_after(std::chrono::seconds(2));
    linger();
  }
  void linger() {
    buffer_.clear();
    wire_->read_some(buffer_.prepare(4096),
                     [self = shared_from_this()](beast::error_code failed, size_t) {
                       if (failed) return self->close();
                       self->linger();
                     });
  }

  void close() {
    if (closed_) return;
    closed_ = true;
    beast::error_code ignored;
    wire_->tcp().socket().close(ignored);
    if (const auto reply = reply_.lock()) left(*reply);
  }
  static void left(Reply& reply);

  // Notices a client that leaves during its request.
  void watch() {
    if (closed_ || watching_) return;
    watching_ = true;
    wire_->tcp().socket().async_wait(
        asio::ip::tcp::socket::wait_read, [self = shared_from_this()](beast::error_code failed) {
          self->watching_ = false;
          if (failed || self->closed_ || self->reply_.expired()) return;
          char byte;
          const ssize_t n = ::recv(self->wire_->tcp().socket().native_handle(), &byte, 1,
                                   MSG_PEEK | MSG_DONTWAIT);
          // More bytes mean a next request: the client is still there, and watching ends.
          if (n == 0 || (n < 0 && errno != EAGAIN && errno != EWOULDBLOCK)) self->close();
        });
  }

  std::shared_ptr<Wire> wire_;
  HttpShared& shared_;
  beast::flat_buffer buffer_;
  std::string client_;
  size_t extension_bytes_ = 0;
  std::function<void(uint64_t, beast::string_view, beast::error_code&)> on_chunk_ =
      [this](uint64_t size, beast::string_view extensions, beast::error_code& failed) {
        extension_bytes_ += extensions.size();
        if (extension_bytes_ > shared_.options.most_header_bytes)
          failed = http::error::header_limit;
        if (size > shared_.options.most_body_bytes) return;  // Beast refuses it
        no_room_ = !open_bytes_.add(static_cast<size_t>(size));
        if (no_room_) failed = http::error::body_limit;
      };
  std::optional<http::request_parser<http::string_body>> parser_;
  std::string head_, body_;  // being written
  std::weak_ptr<Reply> reply_;
  WebRequest request_;  // without its body
  OpenBytes open_bytes_;
  bool keep_alive_ = false, closed_ = false, idle_ = false, watching_ = false;
  bool admitted_ = false, no_room_ = false;
};

// Everything is done on the server's thread; what the handlers' threads see is atomic.
class Http1::Reply : public ConnectionReply, public std::enable_shared_from_this<Http1::Reply> {
 public:
  Reply(std::shared_ptr<Http1> connection, unsigned version, bool no_body)
      : connection_(std::move(connection)),
        open_bytes_(std::move(connection_->open_bytes_)),
        version_(version),
        no_body_(no_body) {
    ++connection_->shared_.requests;
  }
  ~Reply() override {
    --connection_->shared_.requests;
    if (done_) return;
    asio::post(connection_->wire_->get_executor(),
               [c = connection_, begun = begun_.load(), v = version_, n = no_body_] {
                 if (begun) return c->close();  // the client sees that it is incomplete
                 c->send(web_error(500, "the request was dropped"), v, n);
               });
  }

  void send(WebAnswer a) override {
    if (begun_) return;
    done_ = true;
    post([this, a = std::move(a)]() mutable {
      connection_->send(std::move(a), version_, no_body_);
    });
  }
  void begin(WebAnswer a) override {
    begun_ = true;
    post([this, a = std::move(a)]() mutable {
      Response r = response_to(std::move(a), version_);
      chunked_ = version_ >= 11;
      connection_->keep_alive_ =
          connection_->keep_alive_ && !connection_->shared_.draining && chunked_;
      r.keep_alive(connection_->keep_alive_);
      if (chunked_) r.chunked(true);
      if (no_body_) ending_ = true;
      sent_ = head_of(r);
      write_sent();
    });
  }
  void write(std::string piece) override {
    if (piece.empty()) return;
    post([this, p = std::move(piece)]() mutable {
      if (gone() || no_body_) return;
      unsent_ += p.size();
      pieces_.push_back(std::move(p));
      if (unsent_ > connection_->shared_.options.most_unsent_bytes) return connection_->close();
      next();
    });
  }
  void end() override {
    done_ = true;
    post([this] {
      ending_ = true;
      next();
    });
  }

 private:
  void post(std::function<void()> f) {
    asio::post(connection_->wire_->get_executor(),
               [self = shared_from_this(), f = std::move(f)] { f(); });
  }

  void write_sent() {
    writing_ = true;
    connection_->wire_->tcp().expires_after(seconds_of(connection_->shared_.options.write_seconds));
    connection_->wire_->write(
        sent_, {},
        [self = shared_from_this()](beast::error_code failed, size_t) { self->wrote(failed); });
  }

  void wrote(beast::error_code failed) {
    writing_ = false;
    if (failed) return connection_->close();
    if (last_written_) return connection_->answered({});
    next();
  }

  void next() {
    if (writing_ || gone() || last_written_) return;
    sent_.clear();
    if (!pieces_.empty()) {
      // All pending data go in one chunk.
      if (chunked_) sent_ = fmt::format("{:x}\r\n", unsent_);
      for (const std::string& p : pieces_) sent_ += p;
      if (chunked_) sent_ += "\r\n";
      pieces_.clear();
      unsent_ = 0;
      return write_sent();
    }
    if (!ending_) return;
    last_written_ = true;
    if (!chunked_ || no_body_) return connection_->answered({});
    sent_ = "0\r\n\r\n";
    write_sent();
  }

  std::shared_ptr<Http1> connection_;
  OpenBytes open_bytes_;
  unsigned version_;
  bool no_body_;
  std::atomic<bool> done_ = false, begun_ = false;
  std::deque<std::string> pieces_;
  std::string sent_;
  size_t unsent_ = 0;
  bool chunked_ = false, writing_ = false, ending_ = false, last_written_ = false;
};

void Http1::left(Reply& reply) { reply.left(); }

void Http1::answer() {
  wire_->tcp().expires_never();
  auto message = parser_->release();
  keep_alive_ = message.keep_alive();
  request_.body = std::move(message.body());
  const auto reply = std::make_shared<Reply>(shared_from_this(), message.version(),
                                             message.method() == http::verb::head);
  reply_ = reply;
  watch();
  shared_.handler(std::move(request_), reply);
}

}  // namespace

std::shared_ptr<HttpConnection> start_http1(std::shared_ptr<Wire> wire, HttpShared& shared,
                                            beast::flat_buffer begun) {
  auto connection = std::make_shared<Http1>(std::move(wire), shared, std::move(begun));
  connection->read_head();
  return connection;
}

}  // namespace hone
