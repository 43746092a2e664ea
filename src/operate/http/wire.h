// Parts that HTTP/1 and HTTP/2 share: the bytes of a connection with or without TLS, read and written by asynchronous
// functions of Boost.Asio and Boost.Beast, and the state of the server.
#pragma once

#include <atomic>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ssl.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>
#include <boost/beast/ssl.hpp>
#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>

#include "operate/http/options.h"
#include "operate/http/request.h"

namespace hone {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = beast::http;

// Called with the error, and with the number of bytes that were read or written.
using WireDone = std::function<void(beast::error_code, size_t)>;

// The socket of one connection. Each function returns at once and calls `done` later, on the server's thread.
class Wire {
 public:
  using executor_type = beast::tcp_stream::executor_type;

  Wire(asio::ip::tcp::socket socket, asio::ssl::context* tls) : tcp_(std::move(socket)) {
    if (tls != nullptr) tls_.emplace(tcp_, *tls);
  }
  Wire(const Wire&) = delete;

  executor_type get_executor() { return tcp_.get_executor(); }
  beast::tcp_stream& tcp() { return tcp_; }
  bool has_tls() const { return tls_.has_value(); }

  // The TLS handshake and the TLS shutdown. Call them only if has_tls().
  void handshake(std::function<void(beast::error_code)> done);
  void shutdown(std::function<void(beast::error_code)> done);

  // Reads at least one byte, at most the size of `into`.
  void read_some(asio::mutable_buffer into, WireDone done);
  // Writes all bytes of `first`, then all of `second`. The caller keeps both alive until `done` is called.
  void write(std::string_view first, std::string_view second, WireDone done);

 private:
  beast::tcp_stream tcp_;
  std::optional<asio::ssl::stream<beast::tcp_stream&>> tls_;
};

// State that the connections of a server share. Any thread may use the atomic counters. Only the server's thread may
// use the other members.
struct HttpShared {
  HttpOptions options;
  WebHandler handler;
  WebHooks hooks;
  bool draining = false;
  std::atomic<int64_t> connections{0}, requests{0};  // open connections; unanswered requests
  std::atomic<size_t> open_bytes{0};                 // sum of the bytes of all OpenBytes

  // The answer with which the admission hook refuses the request; nullopt: the request is admitted.
  std::optional<WebAnswer> refusal(const WebRequest& head) const {
    return hooks.admission ? hooks.admission(head) : std::nullopt;
  }
  // Lets the refusal hook change `answer`.
  void finish_refusal(const WebRequest& head, WebAnswer& answer) const {
    if (hooks.refusal) hooks.refusal(head, answer);
  }
};

// Counts the bytes of one request's body in HttpShared::open_bytes, from before they are read until the request is
// answered.
class OpenBytes {
 public:
  explicit OpenBytes(HttpShared& shared) : shared_(&shared) {}
  OpenBytes(OpenBytes&& o) noexcept : shared_(o.shared_), bytes_(std::exchange(o.bytes_, 0)) {}
  OpenBytes& operator=(OpenBytes&&) = delete;
  ~OpenBytes() { clear(); }
  // Counts further bytes and returns true. If the total of all requests would exceed most_open_bytes, counts nothing
  // and returns false.
  bool add(size_t bytes) {
    const size_t most = shared_->options.most_open_bytes;
    if (shared_->open_bytes.fetch_add(bytes) + bytes > most) {
      shared_->open_bytes -= bytes;
      return false;
    }
    bytes_ += bytes;
    return true;
  }
  void clear() { shared_->open_bytes -= std::exchange(bytes_, 0); }

 private:
  HttpShared* shared_;
  size_t bytes_ = 0;
};
// The answer with status 503 for a body that OpenBytes::add() refuses.
WebAnswer no_room_for_body(const HttpShared& shared);

inline std::chrono::steady_clock::duration seconds_of(double s) {
  return std::chrono::duration_cast<std::chrono::steady_clock::duration>(
      std::chrono::duration<double>(s));
}

class HttpConnection {
 public:
  virtual ~HttpConnection() = default;
  // Called when the server drains: ends the connection once it has no open request.
  virtual void finish() = 0;
};

// Start a connection of HTTP/1 or HTTP/2. `begun`: bytes that the client sent and the server has read. The connection
// owns itself, and decrements `shared.connections` when it ends.
std::shared_ptr<HttpConnection> start_http1(std::shared_ptr<Wire> wire, HttpShared& shared,
                                            beast::flat_buffer begun);
std::shared_ptr<HttpConnection> start_http2(std::shared_ptr<Wire> wire, HttpShared& shared,
                                            beast::flat_buffer begun);

// The first bytes that every HTTP/2 client sends.
inline constexpr std::string_view kHttp2Preface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

}  // namespace hone
