// A connection's bytes, with or without TLS, for Beast's and Asio's asynchronous functions.
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

#include "operate/http/options.h"
#include "operate/http/request.h"

namespace hone {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = beast::http;

// Called with the error, and with how many bytes were read or written.
using WireDone = std::function<void(beast::error_code, size_t)>;

// One connection. All its functions call `done` on the thread of the server.
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

  // The greeting and the farewell of TLS.
  void handshake(std::function<void(beast::error_code)> done);
  void shutdown(std::function<void(beast::error_code)> done);

  void read_some(asio::mutable_buffer into, WireDone done);
  // Writes all bytes of `first`, then all of `second`. They live until `done` is called.
  void write(std::string_view first, std::string_view second, WireDone done);

  // Serves Beast, whose type of handler ends here: the functions of TCP and TLS are
  // compiled once for all of Beast's.
  template <class Buffers, class Handler>
  void async_read_some(const Buffers& buffers, Handler&& handler) {
    auto kept = std::make_shared<std::decay_t<Handler>>(std::forward<Handler>(handler));
    read_some(*asio::buffer_sequence_begin(buffers),
              [kept](beast::error_code failed, size_t bytes) { (*kept)(failed, bytes); });
  }

 private:
  beast::tcp_stream tcp_;
  std::optional<asio::ssl::stream<beast::tcp_stream&>> tls_;
};

// State that the connections of a server share. Used only on the server's thread, except the
// counters.
struct HttpShared {
  HttpOptions options;
  WebHandler handler;
  bool draining = false;
  std::atomic<int64_t> connections{0}, requests{0};
};

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

// Starts a connection. `begun`: bytes of it that are read already. The connection owns itself and
// decrements `connections` when it ends.
std::shared_ptr<HttpConnection> start_http1(std::shared_ptr<Wire> wire, HttpShared& shared,
                                            beast::flat_buffer begun);
std::shared_ptr<HttpConnection> start_http2(std::shared_ptr<Wire> wire, HttpShared& shared,
                                            beast::flat_buffer begun);

// The first bytes of an HTTP/2 client.
inline constexpr std::string_view kHttp2Preface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

}  // namespace hone
